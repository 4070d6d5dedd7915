"""The fields of LLVM's debug data, `!DILocation(line: 3, scope: !4)`: which there are, which must
be there, what they hold.

`FIELDS` is a row a kind: a name for each field, the kind of its value behind a colon, `!` behind
what must be given. Kinds of values:

    node, node-            metadata; without null
    text, text-            a string; not empty
    u16 u32 u64 s32 s64    numbers of so many bits
    bool  bound            `true`; a number from -1 on, or metadata
    tag lang ate cc vis mac  names of DWARF, or their numbers
    flags spflags          `DIFlagPublic | DIFlagVector`
    emission  table        `FullDebug`; `GNU`, or their numbers
    word                   a word that is not checked further

Fields that only newer LLVMs have are among them, and those that only older ones had.

Source   LLVM 19's parser (LLParser, "Specialized metadata"); DWARF 5 for the names.
"""

from __future__ import annotations

import re

FIELDS: dict[str, dict[str, str]] = {}
_WORDS = {
    "emission": ("NoDebug", "FullDebug", "LineTablesOnly", "DebugDirectivesOnly"),
    "table": ("Default", "GNU", "None", "Apple"),
}
DISTINCT = frozenset(("DICompileUnit", "DIAssignID"))


def _row(kind: str, text: str) -> None:
    FIELDS[kind] = dict(f.split(":") for f in text.split())


_row("DILocation", "line:u32 column:u16 scope:node-! inlinedAt:node isImplicitCode:bool "
     "atomGroup:u64 atomRank:u64")
_row("GenericDINode", "tag:tag! header:text operands:node")
_row("DISubrange", "count:bound lowerBound:bound upperBound:bound stride:bound")
_row("DIGenericSubrange", "count:node lowerBound:node upperBound:node stride:node")
_row("DISubrangeType", "name:text file:node line:u32 scope:node size:node align:u32 flags:flags "
     "baseType:node lowerBound:node upperBound:node stride:node bias:node")
_row("DIEnumerator", "name:text! value:big! isUnsigned:bool")
_row("DIBasicType", "tag:tag name:text file:node line:u32 scope:node size:size align:u32 "
     "encoding:ate numExtraInhabitants:u32 dataSize:u32 flags:flags")
_row("DIFixedPointType", "tag:tag name:text file:node line:u32 scope:node size:size align:u32 "
     "encoding:ate flags:flags kind:word factor:s32 numerator:big denominator:big")
_row("DIStringType", "tag:tag name:text stringLength:node stringLengthExpression:node "
     "stringLocationExpression:node size:size align:u32 encoding:ate")
_row("DIDerivedType", "tag:tag! name:text file:node line:u32 scope:node baseType:node! size:size "
     "align:u32 offset:size flags:flags extraData:node dwarfAddressSpace:u32 annotations:node "
     "ptrAuthKey:u32 ptrAuthIsAddressDiscriminated:bool ptrAuthExtraDiscriminator:u16 "
     "ptrAuthIsaPointer:bool ptrAuthAuthenticatesNullValues:bool")
_row("DICompositeType", "tag:tag! name:text file:node line:u32 scope:node baseType:node size:size "
     "align:u32 offset:size flags:flags elements:node runtimeLang:lang enumKind:word "
     "vtableHolder:node templateParams:node identifier:text discriminator:node dataLocation:node "
     "associated:node allocated:node rank:bound annotations:node specification:node "
     "numExtraInhabitants:u32 bitStride:node")
_row("DISubroutineType", "flags:flags cc:cc types:node!")
_row("DIFile", "filename:text! directory:text! checksumkind:csk checksum:text source:text")
_row("DICompileUnit", "language:lang sourceLanguageName:word file:node-! producer:text "
     "isOptimized:bool flags:text runtimeVersion:u32 splitDebugFilename:text emissionKind:emission "
     "enums:node retainedTypes:node globals:node imports:node macros:node dwoId:u64 "
     "splitDebugInlining:bool debugInfoForProfiling:bool nameTableKind:table gnuPubnames:bool "
     "rangesBaseAddress:bool sysroot:text sdk:text subprograms:node")
_row("DISubprogram", "scope:node name:text linkageName:text file:node line:u32 type:node "
     "isLocal:bool isDefinition:bool scopeLine:u32 containingType:node virtuality:vis "
     "virtualIndex:u32 thisAdjustment:s32 flags:flags spFlags:spflags isOptimized:bool unit:node "
     "templateParams:node declaration:node retainedNodes:node variables:node thrownTypes:node "
     "annotations:node targetFuncName:text keyInstructions:bool")
_row("DILexicalBlock", "scope:node-! file:node line:u32 column:u16")
_row("DILexicalBlockFile", "scope:node-! file:node discriminator:u32!")
_row("DICommonBlock", "scope:node! declaration:node name:text file:node line:u32")
_row("DINamespace", "scope:node! name:text exportSymbols:bool file:node line:u32")
_row("DIMacro", "type:mac! line:u32 name:text! value:text")
_row("DIMacroFile", "type:mac line:u32 file:node! nodes:node")
_row("DIModule", "scope:node! name:text! configMacros:text includePath:text apinotes:text "
     "line:u32 isDecl:bool file:node isysroot:text sysroot:text")
_row("DITemplateTypeParameter", "name:text type:node! defaulted:bool")
_row("DITemplateValueParameter", "tag:tag name:text type:node defaulted:bool value:node!")
_row("DIGlobalVariable", "name:text- scope:node linkageName:text file:node line:u32 type:node "
     "isLocal:bool isDefinition:bool templateParams:node declaration:node align:u32 "
     "annotations:node")
_row("DIGlobalVariableExpression", "var:node! expr:node!")
_row("DILocalVariable", "scope:node-! name:text arg:u16 file:node line:u32 type:node flags:flags "
     "align:u32 annotations:node")
_row("DILabel", "scope:node-! name:text! file:node! line:u32! column:u16 isArtificial:bool "
     "coroSuspendIdx:u32")
_row("DIObjCProperty", "name:text file:node line:u32 setter:text getter:text attributes:u32 "
     "type:node")
_row("DIImportedEntity", "tag:tag! scope:node! entity:node file:node line:u32 name:text "
     "elements:node")
_row("DIAssignID", "")

_TAGS = frozenset("""
    null array_type class_type entry_point enumeration_type formal_parameter
    imported_declaration label lexical_block member pointer_type reference_type compile_unit
    string_type structure_type subroutine_type typedef union_type unspecified_parameters variant
    common_block common_inclusion inheritance inlined_subroutine module ptr_to_member_type
    set_type subrange_type with_stmt access_declaration base_type catch_block const_type
    constant enumerator file_type friend namelist namelist_item packed_type subprogram
    template_type_parameter template_value_parameter thrown_type try_block variant_part variable
    volatile_type dwarf_procedure restrict_type interface_type namespace imported_module
    unspecified_type partial_unit imported_unit condition shared_type type_unit
    rvalue_reference_type template_alias coarray_type generic_subrange dynamic_type atomic_type
    call_site call_site_parameter skeleton_unit immutable_type auto_variable arg_variable
    expression MIPS_loop format_label function_template class_template
    GNU_template_template_param GNU_template_parameter_pack GNU_formal_parameter_pack
    GNU_call_site GNU_call_site_parameter APPLE_property LLVM_ptrauth_type LLVM_annotation
""".split())  # noqa: SIM905
_LANGUAGES = frozenset("""
    C89 C Ada83 C_plus_plus Cobol74 Cobol85 Fortran77 Fortran90 Pascal83 Modula2 Java C99 Ada95
    Fortran95 PLI ObjC ObjC_plus_plus UPC D Python OpenCL Go Modula3 Haskell C_plus_plus_03
    C_plus_plus_11 OCaml Rust C11 Swift Julia C_plus_plus_14 Fortran03 Fortran08 RenderScript
    BLISS Kotlin Zig Crystal C_plus_plus_17 C_plus_plus_20 C17 Fortran18 Ada2005 Ada2012 HIP
    Assembly C_sharp Mojo GLSL GLSL_ES HLSL OpenCL_CPP CPP_for_OpenCL SYCL C_plus_plus_23 Odin
    P4 Metal C23 Fortran23 Ruby Move Hylo Algol68 V Nim Erlang Elixir Gleam Mips_Assembler
    GOOGLE_RenderScript BORLAND_Delphi
""".split())  # noqa: SIM905
_ENCODINGS = frozenset("""
    address boolean complex_float float signed signed_char unsigned unsigned_char
    imaginary_float packed_decimal numeric_string edited signed_fixed unsigned_fixed
    decimal_float UTF UCS ASCII complex_signed imaginary_signed complex_unsigned
    imaginary_unsigned
""".split())  # noqa: SIM905
_CONVENTIONS = re.compile(
    r"DW_CC_(normal|program|nocall|pass_by_\w+|GNU_\w+|BORLAND_\w+|LLVM_\w+)\Z")
_NAMES = {
    "tag": ("DW_TAG_", _TAGS, 1 << 16), "lang": ("DW_LANG_", _LANGUAGES, 1 << 16),
    "ate": ("DW_ATE_", _ENCODINGS, 1 << 16),
    "vis": ("DW_VIRTUALITY_", frozenset(("none", "virtual", "pure_virtual")), 1 << 8),
    "mac": ("DW_MACINFO_", frozenset(("define", "undef", "start_file", "end_file", "vendor_ext")),
            1 << 8),
}
_FLAGS = {
    "flags": (re.compile(r"DIFlag(?:Zero|Private|Protected|Public|FwdDecl|AppleBlock|ReservedBit4"
              r"|Virtual|Artificial|Explicit|Prototyped|ObjcClassComplete|ObjectPointer|Vector"
              r"|StaticMember|LValueReference|RValueReference|ExportSymbols|SingleInheritance"
              r"|MultipleInheritance|VirtualInheritance|IntroducedVirtual|BitField|NoReturn"
              r"|TypePassByValue|TypePassByReference|EnumClass|FixedEnum|Thunk|NonTrivial|BigEndian"
              r"|LittleEndian|AllCallsDescribed|IndirectVirtualBase|MainSubprogram|BlockByrefStruct"
              r"|Trivial)\Z"), "debug info flag"),
    "spflags": (re.compile(r"DISPFlag(?:Zero|Virtual|PureVirtual|LocalToUnit|Definition|Optimized"
                r"|Pure|Elemental|Recursive|MainSubprogram|Deleted|ObjCDirect)\Z"),
                "subprogram flag"),
}
_NUMBER = re.compile(r"-?\d+\Z", re.ASCII).match
_OPERATIONS = frozenset("""
    addr deref const1u const1s const2u const2s const4u const4s const8u const8s constu consts dup
    drop over pick swap rot xderef abs and div minus mod mul neg not or plus plus_uconst shl shr
    shra xor bra eq ge gt le lt ne skip regx fbreg bregx piece deref_size xderef_size nop
    push_object_address call2 call4 call_ref form_tls_address call_frame_cfa bit_piece
    implicit_value stack_value implicit_pointer addrx constx entry_value const_type regval_type
    deref_type xderef_type convert reinterpret
""".split())  # noqa: SIM905


def value_problem(kind: str, name: str, token: str, following: str) -> str | None:
    """What is wrong with the value of a field that begins with `token`, or None."""
    base = kind.rstrip("!")
    if base in ("node", "node-"):
        if token == "null":
            return f"'{name}' cannot be null" if base == "node-" else None
        return None if token[:1] == "!" or token in ("distinct", "{") or _is_type(token) else (
            f"'{name}' holds metadata, not '{token[:30]}'")
    if base in ("text", "text-"):
        if token[:1] != '"':
            return f"'{name}' holds a string, not '{token[:30]}'"
        return f"'{name}' cannot be empty" if base == "text-" and token == '""' else None
    if base == "bool":
        return None if token in ("true", "false") else f"'{name}' is true or false"
    if base in _NAMES:
        prefix, names, below = _NAMES[base]
        if _NUMBER(token):
            return _range(name, token, 0, below - 1)
        if not token.startswith(prefix):
            return f"'{name}' holds a name {prefix}…, not '{token[:30]}'"
        return None if token[len(prefix) :] in names else f"no such name as '{token[:60]}'"
    if base in _FLAGS:
        match, what = _FLAGS[base]
        return None if _NUMBER(token) or match.match(token) else f"no {what} '{token[:40]}'"
    if base == "cc":
        return None if _NUMBER(token) or _CONVENTIONS.match(token) else (
            f"no calling convention '{token[:40]}'")
    if base == "csk":
        return None if token in ("CSK_MD5", "CSK_SHA1", "CSK_SHA256") else (
            f"no kind of checksum '{token[:30]}'")
    return _number_problem(base, name, token)


def _number_problem(base: str, name: str, token: str) -> str | None:
    if base in ("bound", "size") and (token[:1] == "!" or _is_type(token)):
        return None
    if base in _WORDS and not token.isdigit():
        known = ", ".join(_WORDS[base])
        return None if token in _WORDS[base] else f"'{name}' is one of {known}"
    if base in ("word", *_WORDS):
        return None
    if not _NUMBER(token):
        return f"'{name}' is a number, not '{token[:30]}'"
    if base == "big":
        return None
    bits = int(base[1:]) if base[1:].isdigit() else 64
    if base == "bound":
        least = -1 if name == "count" else -(1 << 63)
        return _range(name, token, least, (1 << 63) - 1)
    if base[0] == "s" and base != "size":
        return _range(name, token, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return _range(name, token, 0, (1 << bits) - 1)


def _range(name: str, token: str, least: int, most: int) -> str | None:
    if len(token) > 40 or not least <= int(token) <= most:
        return f"'{name}' is {token[:40]}, the limits are {least} and {most}"
    return None


def _is_type(token: str) -> bool:
    return token in ("ptr", "metadata") or (token[:1] == "i" and token[1:].isdigit())


def node_problem(kind: str, given: dict[str, str], distinct: bool) -> str | None:
    """What a node lacks, or None. `given`: the fields that it has."""
    for name, value in FIELDS[kind].items():
        if value[-1] == "!" and name not in given:
            return f"{kind} lacks the field '{name}'"
    if kind == "DICompileUnit" and not ("language" in given or "sourceLanguageName" in given):
        return "DICompileUnit lacks the field 'language'"
    if kind == "DIFile" and ("checksum" in given) != ("checksumkind" in given):
        return "DIFile has 'checksum' and 'checksumkind' together"
    if kind in DISTINCT and not distinct:
        return f"{kind} is 'distinct'"
    if kind == "DISubprogram" and not distinct and _defines(given):
        return "DISubprogram is 'distinct' where it is a definition"
    return None


def _defines(given: dict[str, str]) -> bool:
    if "spFlags" in given:
        return "DISPFlagDefinition" in given["spFlags"]
    return given.get("isDefinition", "true") == "true"


def expression_problem(token: str) -> str | None:
    """What is wrong with an element of a DIExpression, or None."""
    if token.isdigit():
        fits = len(token) < 21 and int(token) < 1 << 64
        return None if fits else f"{token[:40]} has over 64 bits"
    if token.startswith("DW_ATE_"):
        return None if token[7:] in _ENCODINGS else f"no such name as '{token[:60]}'"
    if token.startswith("DW_OP_"):
        name = token[6:]
        known = name in _OPERATIONS or re.fullmatch(
            r"(lit|reg|breg)([12]?\d|3[01])|(LLVM|GNU|HP|INTEL|PGI|WASM)_\w+", name)
        return None if known else f"no such operation as '{token[:60]}'"
    return f"'{token[:30]}' is no element of an expression"
