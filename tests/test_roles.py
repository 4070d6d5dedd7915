"""Each role that the notes' function maps name is a function, class or method of nvir.

The maps (rows PRV-*) give roles to addresses of a binary. Nothing in nvir has an address; what
can be held to is that each role has a name, and for the roles of the loop passes a test of its own.
"""

from __future__ import annotations

import ast
import functools
import importlib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

MEMMOVE = "nvir.passes.aggregate"
IRGEN = "nvir.frontend.irgen"
LOOP = "nvir.passes.loop"

# role → where it is
BUILDERS = {
    "driver": f"{MEMMOVE}.lower_aggr_copies:run",
    "compare": "nvir.ir.nvvm:Builder.icmp_unsigned",
    "conditional branch": "nvir.ir.nvvm:Builder.cbranch",
    "load, with alignment": "nvir.ir.nvvm:Builder.load",
    "store, with alignment": "nvir.ir.nvvm:Builder.store",
    "phi": "nvir.ir.nvvm:Builder.phi",
    "constant": "nvir.ir.nvvm:const",
    "binary operation, up": "nvir.ir.nvvm:Builder.add",
    "binary operation, down": "nvir.ir.nvvm:Builder.sub",
    "replace all uses": "nvir.ir.values:Value.replace_all_uses_with",
    "parser of the pass's parameters": "nvir.passes.pipeline:parse_pipeline",
}
SPLITTING = {
    "driver": f"{MEMMOVE}.split:split_values",
    "getStructLayout": "nvir.ir.layout:struct_layout",
    "getScalarType": f"{MEMMOVE}.leaves:leaves",
    "composite type": f"{MEMMOVE}.leaves:composite",
    "alignment from the data layout": "nvir.ir.layout:align_of",
    "wrap in a vector": "nvir.ir.types:VectorType",
    "create splitStruct": f"{MEMMOVE}.split:split_values",
    "extract": "nvir.ir.nvvm:Builder.extract_value",
    "split load": "nvir.ir.nvvm:Builder.load",
    "alignment of an element": f"{MEMMOVE}.copies:aligned_at",
    "replace all uses": "nvir.ir.values:Value.replace_all_uses_with",
    "size of pointers and structs": "nvir.ir.layout:size_of",
}
FUNCTIONS = {
    "EmitFunction": f"{IRGEN}.functions:emit_function",
    "GenerateFunctionProlog": f"{IRGEN}.functions:emit_prolog",
    "EmitParamDecl": f"{IRGEN}.functions:emit_param_decl",
    "CreateTmpAlloca": f"{IRGEN}.state:IRGenState.alloca",
    "CreateAllocaInst": f"{IRGEN}.alloca:create_alloca",
    "IsSRetReturn": f"{IRGEN}.abi:ABI.sret",
    "IsAggregateType": "nvir.frontend.tree.types:is_aggregate",
    "EmitCallExpr": f"{IRGEN}.calls:emit_call",
    "ClassifyABI": f"{IRGEN}.abi:classify",
    "PrintfExpansion": "nvir.frontend.irgen.intrinsic.printf:emit_printf",
    "CollectCCAttrs, the list of sret, byval and align": f"{IRGEN}.abi:Passing",
    "BuiltinLowering": "nvir.frontend.irgen.intrinsic.builtins:emit_builtin",
    "EmitInlineAsm": "nvir.frontend.irgen.intrinsic.inline_asm:emit_asm",
    "EmitFunctionAttrs": f"{IRGEN}.metadata:function_annotations",
    "ReadFunctionAttrs, named metadata": f"{IRGEN}.metadata:setup_function_metadata",
    "ParsePreserveAttrs, as a field of the tree": "nvir.frontend.tree.declarations:Attributes",
}
EXPRESSIONS = {
    "EmitExpr": f"{IRGEN}.expressions:emit_value",
    "EmitStmt": f"{IRGEN}.statements:emit_stmt",
    "EmitConstExpr": f"{IRGEN}.constants:emit_constant",
    "EmitBoolExpr": f"{IRGEN}.expressions:emit_bool",
    "EmitCast": f"{IRGEN}.casts:emit_cast",
    "EmitBinaryArithCmp": f"{IRGEN}.operators:emit_binary",
    "EmitAddressOf": f"{IRGEN}.places:emit_lvalue",
    "EmitBitfieldLoad": f"{IRGEN}.bitfields:load_bit_field",
    "EmitBitfieldStore": f"{IRGEN}.bitfields:store_bit_field",
    "EmitSpecialVarAccess": "nvir.frontend.irgen.intrinsic.special_variables:special_value",
    "EmitSpecialVarMemberAccess": f"{IRGEN}.intrinsic.special_variables:special_component",
    "LowerPrintfToVprintf": "nvir.frontend.irgen.intrinsic.printf:emit_printf",
    "CreateBasicBlock": f"{IRGEN}.state:IRGenState.new_block",
    "SetInsertPoint": f"{IRGEN}.state:IRGenState.start",
    "GetLLVMType": f"{IRGEN}.types:Types.value",
    "GetSMVersion": f"{IRGEN}.state:Options",
    "IsAddressOfExpr": "nvir.frontend.check.base:is_lvalue",
    "FatalDiag": f"{IRGEN}.state:IRGenError",
    "determineAddressSpaceAndCreate": f"{IRGEN}.variables:global_symbol",
    "finalizeGlobals": f"{IRGEN}.module:generate",
}
# role → (where it is, the test that shows it)
UNROLLING = {
    "execute entry": (
        "nvir.passes.loop.unroll.loop_unroll:run",
        "test_a_guard_stops_the_pass_with_a_remark",
    ),
    "context initialiser": (
        "nvir.documented.policy:rules_of",
        "test_the_rules_start_from_the_knob_table",
    ),
    "driver": ("nvir.passes.loop.unroll.apply:unroll", "test_any_body"),
    "cleanup": (
        "nvir.passes.loop.unroll.transform:Unroller.finish",
        "test_what_depends_on_the_variable_alone_is_worked_out",
    ),
    "CheckNounroll": (
        "nvir.analysis.source_loops:has_pragma",
        "test_four_causes_and_the_master_knob_give_11",
    ),
    "rejection recorder": (
        "nvir.passes.loop.unroll.remarks:UnrollCode",
        "test_there_are_eleven_codes_with_texts_in_the_tools_style",
    ),
    "ScanLoopBody": (
        "nvir.documented.unroll.facts:scan_body",
        "test_the_body_record_counts_a_body_made_by_hand",
    ),
    "LocateBackEdge": (
        "nvir.ir.loops:natural_loops",
        "test_a_latch_without_a_conditional_branch_is_13",
    ),
    "ExtractBound": (
        "nvir.assembler.unroll.latch_exit:counted_exit",
        "test_what_is_wrong_with_an_exit",
    ),
    "EvaluateAndEmitFullUnroll": (
        "nvir.passes.loop.unroll.transform:Unroller.fully",
        "test_any_body_fully",
    ),
    "ReplicatePartialUnroll": (
        "nvir.passes.loop.unroll.counted:unroll_counted",
        "test_any_count_at_run_time",
    ),
    "CFG fix-up": (
        "nvir.passes.loop.unroll.transform:Unroller.link",
        "test_statistics_come_from_one_record",
    ),
    "AnalyzeIV": (
        "nvir.analysis.induction:induction_variables",
        "test_a_good_exit_has_kind_stride_and_count",
    ),
    "VerifyStride": ("nvir.documented.unroll.facts:stride_fits", "test_strides_must_not_overflow"),
    "DetectConstantIV": ("nvir.analysis.induction:constant_of", "test_degenerate_bounds_are_18"),
    "CountFoldableOps": (
        "nvir.assembler.unroll.body_cost:Known.folds",
        "test_full_unrolling_wants_something_that_folds",
    ),
    "statistics": (
        "nvir.passes.loop.unroll.loop_unroll:UnrollRecord",
        "test_statistics_come_from_one_record",
    ),
}
POSTRA = "nvir.assembler.postra"
PIPELINING = {
    "operand annotator": (
        "nvir.passes.loop.pipeline.feasible:annotate",
        "test_annotation_of_operands",
    ),
    "ClassifyLatency": ("nvir.sm.latency:classify", "test_any_instruction_has_one_of_the_classes"),
    "CheckPipelineFeasibility": (
        "nvir.passes.loop.pipeline.feasible:check",
        "test_the_check_of_an_instruction",
    ),
    "register-class latency": ("nvir.sm.latency:register_class_latency", "test_register_classes"),
    "ComputeStallCycles": ("nvir.sm.latency:stall_cycles", "test_stall_caps"),
    "annotation wrapper": ("nvir.passes.loop.pipeline.feasible:feasible", "test_each_reason"),
    "GEMM extension": ("nvir.passes.loop.tiles.gemm_pipeline:run", "test_the_knob_turns_it_on"),
    "post-RA variant": (
        f"{POSTRA}.place:place", "test_the_noted_scheduler_tries_no_other_interval"),
    "FastPathEmit": (f"{POSTRA}.records:decode", "test_the_flags_byte"),
    "BankAwarePlacement": (
        f"{POSTRA}.place:has_conflict",
        "test_carried_operations_go_by_banks_and_others_stand",
    ),
    "TensorScheduler hook": (f"{POSTRA}.records:Variant", "test_the_tensor_gate_in_the_routes"),
}
HOISTING = {
    "wrappers": (f"{LOOP}.licm:Options", "test_four_instances_of_one_pass"),
    "guard": (f"{LOOP}.licm:guard", "test_the_guard"),
    "orchestrator": (f"{LOOP}.licm:run", "test_inner_loops_come_first_and_headers_need_an_entry"),
    "inner worker": (
        "nvir.documented.hoist.core:Core",
        "test_the_calls_of_a_loop_of_several_blocks",
    ),
    "forward marking": (
        "nvir.documented.hoist.stages:forward",
        "test_forward_marks_what_reads_only_outside",
    ),
    "backward marking": (
        "nvir.documented.hoist.stages:backward",
        "test_backward_takes_false_marks_back_and_counts",
    ),
    "invariance test": ("nvir.documented.hoist.stages:is_invariant", "test_the_leaf_test"),
    "safety check": (
        "nvir.analysis.hoisting.region:survey",
        "test_a_load_that_not_every_iteration_runs_stays",
    ),
    "profitability": ("nvir.documented.hoist.stages:profit", "test_the_profit_test"),
    "propagation": (
        "nvir.documented.hoist.stages:propagate",
        "test_stage_4_says_what_stood_in_the_way",
    ),
    "mover": ("nvir.analysis.hoisting.nest:Nest.leave", "test_a_chain_leaves_in_its_order"),
    "budget stage": ("nvir.documented.hoist.stages:budget", "test_budget_table"),
    "counting": ("nvir.documented.hoist.stages:count", "test_counting"),
    "boundary analysis": ("nvir.documented.hoist.stages:analyze_boundaries", "test_boundaries"),
    "preheader finder": ("nvir.ir.loops:Loop.preheader", "test_an_existing_preheader_serves"),
    "flags lookup": ("nvir.assembler.hoist.tables:block_policy", "test_block_policy"),
    "side-effect checker": ("nvir.analysis.hoisting.region:Blocked", "test_effects_block_the_mark"),
}
FUSION = {
    "entry": ("nvir.passes.loop.fuse.loop_fuse:run", "test_the_gates"),
    "context": (
        "nvir.passes.loop.fuse.plan:FusionLimits", "test_the_candidates_are_noted_and_counted"
    ),
    "driver": (
        "nvir.passes.loop.fuse.loop_fuse:fuse",
        "test_loops_in_a_loop_and_beside_each_other",
    ),
    "FindAdjacentPair": (
        "nvir.passes.loop.fuse.plan:Planner._way",
        "test_loops_on_two_sides_of_a_branch_are_no_neighbours",
    ),
    "DominanceCheck": ("nvir.passes.loop.fuse.plan:Planner._stage_2", "test_each_body_has_a_limit"),
    "BuildDefUseSets": ("nvir.passes.loop.fuse.plan:Planner._registers", "test_registers"),
    "BuildFusionIV": (
        "nvir.passes.loop.fuse.loop_fuse:_join_variables",
        "test_one_variable_remains",
    ),
    "NormalizeIVBounds": (
        "nvir.passes.loop.fuse.plan:Planner._count_alike",
        "test_bounds_are_made_normal",
    ),
    "VerifyStructure": (
        "nvir.passes.loop.fuse.plan:Planner._structure",
        "test_several_blocks_are_fused_on_demand_and_if_alike",
    ),
    "CheckDependencies": ("nvir.passes.loop.fuse.plan:Planner._memory", "test_memory"),
    "PrepareTransform": ("nvir.passes.loop.fuse.loop_fuse:_clear_way", "test_code_between"),
    "ApplyFusion": ("nvir.passes.loop.fuse.loop_fuse:_fuse", "test_two_bodies"),
    "PostCleanup": ("nvir.passes.loop.fuse.loop_fuse:_drop_repeated", "test_two_bodies"),
    "teardown": (
        "nvir.passes.loop.fuse.plan:Candidate",
        "test_annotations_are_fresh_and_the_next_round_sees_them",
    ),
}


def found(place: str) -> object:
    module, _, name = place.partition(":")
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


@functools.cache
def names_of_tests() -> frozenset[str]:
    return frozenset(
        n.name
        for file in TESTS.rglob("test_*.py")
        for n in ast.parse(file.read_text("utf-8")).body
        if isinstance(n, ast.FunctionDef)
    )


def each_has_a_public_place(roles: dict[str, str]) -> None:
    for role, place in roles.items():
        assert not place.rpartition(":")[2].startswith("_"), role
        is_there(role, place)


def is_there(role: str, place: str) -> None:
    thing = found(place)
    assert callable(thing) or isinstance(thing, property), role


def each_has_a_test_of_its_own(roles: dict[str, tuple[str, str]]) -> None:
    for role, (place, test) in roles.items():
        is_there(role, place)
        assert test in names_of_tests(), f"{role}: no test is named {test}"


@pytest.mark.seed("PRV-01")
def test_copy_lowering_has_one_builder_method_a_role():
    each_has_a_public_place(BUILDERS)


@pytest.mark.seed("PRV-02")
def test_struct_splitting_has_one_helper_a_role():
    each_has_a_public_place(SPLITTING)


@pytest.mark.seed("PRV-03")
def test_function_generation_has_one_function_a_role():
    each_has_a_public_place(FUNCTIONS)


@pytest.mark.seed("PRV-04")
def test_ir_generation_has_one_function_a_role():
    each_has_a_public_place(EXPRESSIONS)


@pytest.mark.seed("PRV-05")
def test_the_roles_of_unrolling_have_tests():
    each_has_a_test_of_its_own(UNROLLING)


@pytest.mark.seed("PRV-06")
def test_the_roles_of_pipelining_have_tests():
    each_has_a_test_of_its_own(PIPELINING)


@pytest.mark.seed("PRV-07")
def test_the_roles_of_hoisting_have_tests():
    each_has_a_test_of_its_own(HOISTING)


@pytest.mark.seed("PRV-08")
def test_the_roles_of_fusion_have_tests():
    each_has_a_test_of_its_own(FUSION)
