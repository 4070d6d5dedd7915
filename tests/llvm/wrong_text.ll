;;; datalayout: no such specification
target datalayout = "E-X"
;;; datalayout: pointer without sizes
target datalayout = "p"
;;; datalayout: pointer without alignment
target datalayout = "p:64"
;;; datalayout: address space too large
target datalayout = "p16777216:64:64:64"
;;; datalayout: pointer size zero
target datalayout = "p:0:32"
;;; datalayout: ABI alignment no power of two
target datalayout = "p:64:24:64"
;;; datalayout: preferred below ABI alignment
target datalayout = "p:64:64:32"
;;; datalayout: integer without alignment
target datalayout = "i32"
;;; datalayout: integer too wide
target datalayout = "i16777216:16"
;;; datalayout: i8 not of natural alignment
target datalayout = "i8:16"
;;; datalayout: float without alignment
target datalayout = "f32"
;;; datalayout: alignment no bytes
target datalayout = "i64:37:64"
;;; datalayout: mangling unknown
target datalayout = "m:z"
;;; datalayout: mangling without colon
target datalayout = "m."
;;; datalayout: trailing dash
target datalayout = "e-"
;;; datalayout: native width zero
target datalayout = "n0"
;;; datalayout: native width no number
target datalayout = "n8:x"
;;; datalayout: stack alignment
target datalayout = "S24"
;;; datalayout: aggregate with size
target datalayout = "a1:64"
;;; datalayout: alloca address space
target datalayout = "A16777216"
;;; datalayout: non-integral space zero
target datalayout = "ni:0"
;;; datalayout: non-integral without space
target datalayout = "ni"
;;; datalayout: function pointer alignment
target datalayout = "F"
;;; datalayout: index wider than pointer
target datalayout = "p:32:32:32:64"
;;; target: no such word
target cpu = "x"
;;; target: triple no string
target triple = nvptx64
;;; compile unit without file
!0 = distinct !DICompileUnit(language: DW_LANG_C99, producer: "x")
;;; compile unit without language
!0 = distinct !DICompileUnit(file: !DIFile(filename: "a", directory: "b"))
;;; compile unit not distinct
!0 = !DICompileUnit(language: DW_LANG_C99, file: !DIFile(filename: "a", directory: "b"))
;;; compile unit null file
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: null)
;;; compile unit of an unknown language
!0 = distinct !DICompileUnit(language: DW_LANG_NoSuchLanguage, file: !DIFile(filename: "a", directory: "b"))
;;; compile unit of too large a language
!0 = distinct !DICompileUnit(language: 65536, file: !DIFile(filename: "a", directory: "b"))
;;; file without filename
!0 = !DIFile(directory: "b")
;;; file without directory
!0 = !DIFile(filename: "a")
;;; location: field twice
!0 = !{}
!1 = !DILocation(line: 3, line: 3, scope: !0)
;;; location: unknown field
!0 = !{}
!1 = !DILocation(bad: 3, scope: !0)
;;; location: no scope
!0 = !DILocation(line: 3)
;;; location: null scope
!0 = !DILocation(line: 3, scope: null)
;;; location: line too large
!0 = !{}
!1 = !DILocation(line: 4294967296, scope: !0)
;;; location: column too large
!0 = !{}
!1 = !DILocation(line: 3, column: 65536, scope: !0)
;;; location: line negative
!0 = !{}
!1 = !DILocation(line: -3, scope: !0)
;;; location: line a string
!0 = !{}
!1 = !DILocation(line: "3", scope: !0)
;;; basic type of an unknown tag
!0 = !DIBasicType(tag: DW_TAG_nonsense, name: "x")
;;; basic type of an unknown encoding
!0 = !DIBasicType(name: "x", encoding: DW_ATE_nonsense)
;;; basic type with unknown flag
!0 = !DIBasicType(name: "x", flags: DIFlagNonsense)
;;; derived type without tag
!0 = !DIDerivedType(baseType: null)
;;; derived type without base
!0 = !DIDerivedType(tag: DW_TAG_pointer_type)
;;; composite type without tag
!0 = !DICompositeType(name: "x")
;;; composite type of an unknown flag
!0 = !DICompositeType(tag: DW_TAG_structure_type, flags: DIFlagNothing)
;;; subroutine type without types
!0 = !DISubroutineType(flags: 0)
;;; subroutine type of an unknown convention
!0 = !DISubroutineType(cc: DW_CC_nonsense, types: !{})
;;; subprogram: definition not distinct
!0 = !DISubprogram(name: "f", isDefinition: true)
;;; subprogram: bool is no bool
!0 = distinct !DISubprogram(name: "f", isDefinition: 3)
;;; lexical block without scope
!0 = distinct !DILexicalBlock(line: 7)
;;; lexical block with null scope
!0 = distinct !DILexicalBlock(scope: null)
;;; lexical block file without discriminator
!0 = !{}
!1 = !DILexicalBlockFile(scope: !0)
;;; lexical block file without scope
!0 = !DILexicalBlockFile(discriminator: 0)
;;; local variable without scope
!0 = !DILocalVariable(name: "x")
;;; local variable: arg too large
!0 = distinct !DISubprogram(name: "f")
!1 = !DILocalVariable(name: "x", arg: 65536, scope: !0)
;;; global variable with empty name
!0 = !DIGlobalVariable(name: "")
;;; enumerator without name
!0 = !DIEnumerator(value: 7)
;;; enumerator without value
!0 = !DIEnumerator(name: "x")
;;; enumerator too large and signed
!0 = !DIEnumerator(name: "x", value: 7, value: 8)
;;; imported entity without scope
!0 = !DIImportedEntity(tag: DW_TAG_imported_module)
;;; imported entity without tag
!0 = !{}
!1 = !DIImportedEntity(scope: !0)
;;; subrange: count below -1
!0 = !DISubrange(count: -2)
;;; subrange: bound too large
!0 = !DISubrange(count: 30, lowerBound: 9223372036854775808)
;;; subrange: count too large
!0 = !DISubrange(count: 9223372036854775808)
;;; template type parameter without type
!0 = !DITemplateTypeParameter(name: "x")
;;; template value parameter without value
!0 = !DITemplateValueParameter(name: "x", type: null)
;;; namespace without scope
!0 = !DINamespace(name: "x")
;;; macro without type
!0 = !DIMacro(name: "x")
;;; macro of an unknown type
!0 = !DIMacro(type: DW_MACINFO_nonsense, line: 9, name: "x")
;;; expression: unknown operation
!0 = !DIExpression(DW_OP_nonsense)
;;; expression: number too large
!0 = !DIExpression(18446744073709551616)
;;; expression: brackets not closed
!0 = !DIExpression(7
;;; generic node without tag
!0 = !GenericDINode(header: "x")
;;; generic node: tag too large
!0 = !GenericDINode(tag: 65536)
;;; generic node: tag of a wrong kind
!0 = !GenericDINode(tag: "string")
;;; object of an unknown kind
!0 = !DINothing()
;;; object: a field without a name
!0 = !DILocation(3)
;;; object: a comma too many
!0 = !DIFile(filename: "a", directory: "b",)
;;; file: checksum kind unknown
!0 = !DIFile(filename: "a", directory: "b", checksumkind: CSK_NO, checksum: "00")
;;; file: checksum kind without a checksum
!0 = !DIFile(filename: "a", directory: "b", checksumkind: CSK_MD5)
;;; metadata: empty name
! = !{}
;;; metadata: node twice
!0 = !{}
!0 = !{}
;;; metadata: undefined node
!foo = !{!7}
;;; metadata: named with null
!foo = !{null}
;;; metadata: node with a type before
!0 = metadata !{}
;;; metadata: vector without a comma
!0 = !{i32 1 i32 2}
;;; metadata: a function-local value
define void @f(i32 %x) {
  ret void
}
!0 = !{i32 %x}
;;; metadata: a number without a type
!0 = !{7}
;;; metadata: bare metadata type
!0 = !{metadata !{}}
;;; metadata: void
!0 = !{void 7}
;;; attachment: no node
define void @f() {
  ret void, !dbg
}
;;; attribute group: an alignment in quotes
attributes #0 = { align "4" }
;;; attribute group: unknown word
attributes #0 = { nonsense }
;;; attribute group: a parameter's attribute
define void @f() #0 {
  ret void
}
attributes #0 = { zeroext }
;;; attribute: of functions on a parameter
define void @f(i32 nounwind %x) {
  ret void
}
;;; attribute: of parameters on a function
define void @f() signext {
  ret void
}
;;; attribute: zeroext and signext
define void @f(i32 zeroext signext %x) {
  ret void
}
;;; attribute: zeroext of a float
define void @f(float zeroext %x) {
  ret void
}
;;; attribute: noalias of a number
define void @f(i32 noalias %x) {
  ret void
}
;;; attribute: byval of a number
define void @f(i32 byval(i32) %x) {
  ret void
}
;;; attribute: byval without a type
define void @f(ptr byval %x) {
  ret void
}
;;; attribute: byval and sret
define void @f(ptr byval(i32) sret(i32) %x) {
  ret void
}
;;; attribute: dereferenceable of zero bytes
define void @f(ptr dereferenceable(0) %x) {
  ret void
}
;;; attribute: dereferenceable of a number
define void @f(i32 dereferenceable(4) %x) {
  ret void
}
;;; attribute: alignment of zero
define void @f(ptr align 0 %x) {
  ret void
}
;;; attribute: alignment no power of two
define void @f(ptr align 3 %x) {
  ret void
}
;;; attribute: readnone and readonly
define void @f(ptr readnone readonly %x) {
  ret void
}
;;; attribute: noinline and alwaysinline
define void @f() noinline alwaysinline {
  ret void
}
;;; attribute: optnone without noinline
define void @f() optnone {
  ret void
}
;;; attribute: allocsize beyond the parameters
declare ptr @f(i32) allocsize(1)
;;; attribute: memory of an unknown place
declare void @f() memory(nowhere: read)
;;; attribute: range of equal bounds
declare void @f(i32 range(i32 1, 1))
;;; attribute: range of another type
declare void @f(i32 range(i8 1, 3))
;;; attribute: nofpclass of nothing
declare void @f(float nofpclass())
;;; attribute: returned twice
define i32 @f(i32 returned %x, i32 returned %y) {
  ret i32 %x
}
;;; attribute: nonnull of a float
define void @f(float nonnull %x) {
  ret void
}
;;; attribute: sret on the third parameter
define void @f(i32 %a, i32 %b, ptr sret(i32) %x) {
  ret void
}
;;; attribute: swifterror of a number
define void @f(i32 swifterror %x) {
  ret void
}
;;; attribute: immarg with a variable
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
define void @f(ptr %p, i1 %v) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 %v)
  ret void
}
;;; linkage: private and hidden
@x = private hidden global i32 0
;;; linkage: internal and dllimport
@x = internal dllimport global i32 0
;;; linkage: of a declared function
declare internal void @f()
;;; linkage: common of a function
define common void @f() {
  ret void
}
;;; linkage: common without zero
@x = common global i32 3
;;; linkage: common constant
@x = common constant i32 0
;;; linkage: appending of no array
@x = appending global i32 0
;;; linkage: extern_weak defined
define extern_weak void @f() {
  ret void
}
;;; linkage: an initial value where it is external
@x = external global i32 0
;;; comdat: undefined
@x = global i32 0, comdat($nothing)
;;; comdat: of an unknown kind
$c = comdat nonsense
;;; comdat: twice
$c = comdat any
$c = comdat any
;;; alias: of what is not defined
@x = alias i32, ptr @y
;;; alias: of a declaration
@y = external global i32
@x = alias i32, ptr @y
;;; alias: of itself
@x = alias i32, ptr @x
;;; alias: linkage
@y = global i32 0
@x = common alias i32, ptr @y
;;; alias: no pointer
@y = global i32 0
@x = alias i32, i32 0
;;; variable: void
@x = external global void
;;; variable: a function type
@x = external global void ()
;;; variable: no type
@x = global 7
;;; variable: alignment
@x = global i32 0, align 3
;;; variable: an unknown property
@x = global i32 0, size 3
;;; variable: twice
@x = global i32 0
@x = global i32 1
;;; variable: address space too large
@x = addrspace(16777216) global i32 0
;;; variable: the value of another type
@x = global i32 1.0
;;; variable: array of another length
@x = global [2 x i8] c"abc"
;;; variable: string of words
@x = global [2 x i16] c"ab"
;;; variable: struct members
@x = global { i32, i8 } { i32 1 }
;;; variable: vector element types
@x = global <2 x i32> <i32 1, i8 2>
;;; type: integer too wide
@x = global i8388609 0
;;; type: width zero
@x = global i0 0
;;; type: vector of none
@x = global <0 x i32> zeroinitializer
;;; type: array of void
@x = external global [2 x void]
;;; type: struct of labels
%t = type { label }
;;; type: twice
%t = type { i32 }
%t = type { i32 }
;;; type: undefined
@x = global %t zeroinitializer
;;; type: a pointer that says what it points to
@x = global ptr* null
;;; type: vector of structs
@x = external global <2 x { i32 }>
;;; type: array size missing
@x = external global [x i32]
;;; type: a function returns a function
declare void () @f()
;;; type: void parameter
declare void @f(void)
;;; type: label as result
declare label @f()
;;; type: opaque value
%t = type opaque
define void @f() {
  %x = alloca %t
  ret void
}
;;; function: twice
declare void @f()
declare void @f()
;;; function: parameter name twice
define void @f(i32 %x, i32 %x) {
  ret void
}
;;; function: no body
define void @f()
;;; function: empty body
define void @f() {
}
;;; function: not closed
define void @f() {
  ret void
;;; function: name missing
define void (i32) {
  ret void
}
;;; function: name of a local kind
define void %f() {
  ret void
}
;;; function: dots before the end
declare void @f(..., i32)
;;; function: kernel with a result and a variadic list
declare void @f(i32 %x i32)
;;; function: garbage collector no string
define void @f() gc 7 {
  ret void
}
;;; label: twice
define void @f() {
a:
  br label %a
a:
  ret void
}
;;; label: undefined
define void @f() {
  br label %nowhere
}
;;; label: of a value
define void @f(i32 %x) {
  br label %x
}
;;; block: no terminator
define void @f(i32 %x) {
a:
  %y = add i32 %x, 1
b:
  ret void
}
;;; block: the entry has predecessors
define void @f() {
a:
  br label %a
}
;;; block: number out of order
define void @f() {
5:
  br label %3
3:
  ret void
}
;;; value: undefined
define i32 @f() {
  ret i32 %x
}
;;; value: undefined symbol
define void @f() {
  call void @g()
  ret void
}
;;; value: twice
define void @f(i32 %a) {
  %x = add i32 %a, 1
  %x = add i32 %a, 2
  ret void
}
;;; value: used as another type
define void @f(i32 %a) {
  %x = add i64 %a, 1
  ret void
}
;;; value: forward reference of another type
define void @f(i1 %c) {
  br label %b
b:
  %x = phi i32 [ 0, %0 ], [ %y, %b ]
  %y = add i64 1, 2
  br i1 %c, label %b, label %e
e:
  ret void
}
;;; value: number out of order
define void @f() {
  %5 = add i32 1, 2
  %4 = add i32 1, 2
  ret void
}
;;; value: void has a name
define void @f() {
  %x = call void @g()
  ret void
}
declare void @g()
;;; value: does not dominate
define i32 @f(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  ret i32 %x
}
;;; value: used before it is made
define i32 @f() {
  %x = add i32 %y, 2
  %y = add i32 1, 2
  ret i32 %x
}
;;; value: names itself
define i32 @f() {
  %x = add i32 %x, 2
  ret i32 %x
}
;;; value: empty name
define void @f() {
  %= add i32 1, 2
  ret void
}
;;; add: floats
define void @f(float %a) {
  %x = add float %a, %a
  ret void
}
;;; add: a flag it does not have
define void @f(i32 %a) {
  %x = and nsw i32 %a, %a
  ret void
}
;;; add: pointers
define void @f(ptr %a) {
  %x = add ptr %a, %a
  ret void
}
;;; fadd: integers
define void @f(i32 %a) {
  %x = fadd i32 %a, %a
  ret void
}
;;; fadd: nsw
define void @f(float %a) {
  %x = fadd nsw float %a, %a
  ret void
}
;;; add: fast
define void @f(i32 %a) {
  %x = add fast i32 %a, %a
  ret void
}
;;; udiv: nsw
define void @f(i32 %a) {
  %x = udiv nsw i32 %a, %a
  ret void
}
;;; fneg: integer
define void @f(i32 %a) {
  %x = fneg i32 %a
  ret void
}
;;; icmp: unknown test
define void @f(i32 %a) {
  %x = icmp lt i32 %a, %a
  ret void
}
;;; icmp: floats
define void @f(float %a) {
  %x = icmp eq float %a, %a
  ret void
}
;;; fcmp: integers
define void @f(i32 %a) {
  %x = fcmp oeq i32 %a, %a
  ret void
}
;;; zext: to fewer bits
define void @f(i32 %a) {
  %x = zext i32 %a to i16
  ret void
}
;;; trunc: to the same
define void @f(i32 %a) {
  %x = trunc i32 %a to i32
  ret void
}
;;; trunc: nneg
define void @f(i32 %a) {
  %x = trunc nneg i32 %a to i8
  ret void
}
;;; bitcast: other size
define void @f(i32 %a) {
  %x = bitcast i32 %a to i64
  ret void
}
;;; bitcast: other address space
define void @f(ptr %a) {
  %x = bitcast ptr %a to ptr addrspace(1)
  ret void
}
;;; addrspacecast: same space
define void @f(ptr %a) {
  %x = addrspacecast ptr %a to ptr
  ret void
}
;;; inttoptr: of a float
define void @f(float %a) {
  %x = inttoptr float %a to ptr
  ret void
}
;;; fptrunc: to more bits
define void @f(float %a) {
  %x = fptrunc float %a to double
  ret void
}
;;; sitofp: lanes differ
define void @f(<2 x i32> %a) {
  %x = sitofp <2 x i32> %a to <3 x float>
  ret void
}
;;; select: condition
define void @f(i32 %a) {
  %x = select i32 %a, i32 1, i32 2
  ret void
}
;;; select: arms differ
define void @f(i1 %a) {
  %x = select i1 %a, i32 1, i64 2
  ret void
}
;;; phi: behind another instruction
define void @f(i32 %a) {
  br label %b
b:
  %y = add i32 %a, 1
  %x = phi i32 [ 0, %0 ]
  ret void
}
;;; phi: not the predecessors
define void @f(i32 %a) {
  br label %b
b:
  %x = phi i32 [ 0, %b ]
  ret void
}
;;; phi: fewer entries than edges
define void @f(i1 %c) {
  br i1 %c, label %b, label %b
b:
  %x = phi i32 [ 0, %0 ]
  ret void
}
;;; br: to a value
define void @f() {
  br label %a
b:
  %a = add i32 1, 2
  ret void
}
;;; br: to a value that is a label too
define void @f() {
  %a = add i32 1, 2
  br label %a
a:
  ret void
}
;;; value: has the name of a label
define void @f() {
  br label %a
a:
  %a = add i32 1, 2
  ret void
}
;;; assume: an alignment of a number
declare void @llvm.assume(i1)
define void @f(i32 %a) {
  call void @llvm.assume(i1 true) [ "align"(i32 %a, i64 16) ]
  ret void
}
;;; phi: two values of one predecessor
define void @f(i1 %c) {
  br i1 %c, label %b, label %b
b:
  %x = phi i32 [ 0, %0 ], [ 1, %0 ]
  ret void
}
;;; phi: void
define void @f() {
  br label %b
b:
  %x = phi void [ undef, %0 ]
  ret void
}
;;; load: of a number
define void @f(i32 %a) {
  %x = load i32, i32 %a
  ret void
}
;;; load: void
define void @f(ptr %a) {
  %x = load void, ptr %a
  ret void
}
;;; load: alignment
define void @f(ptr %a) {
  %x = load i32, ptr %a, align 3
  ret void
}
;;; load: alignment too large
define void @f(ptr %a) {
  %x = load i32, ptr %a, align 8589934592
  ret void
}
;;; load: atomic without ordering
define void @f(ptr %a) {
  %x = load atomic i32, ptr %a, align 4
  ret void
}
;;; load: atomic without alignment
define void @f(ptr %a) {
  %x = load atomic i32, ptr %a acquire
  ret void
}
;;; load: atomic release
define void @f(ptr %a) {
  %x = load atomic i32, ptr %a release, align 4
  ret void
}
;;; load: atomic struct
define void @f(ptr %a) {
  %x = load atomic { i32, i32 }, ptr %a acquire, align 8
  ret void
}
;;; load: atomic of odd size
define void @f(ptr %a) {
  %x = load atomic i24, ptr %a acquire, align 4
  ret void
}
;;; load: opaque
%t = type opaque
define void @f(ptr %a) {
  %x = load %t, ptr %a
  ret void
}
;;; store: to a number
define void @f(i32 %a) {
  store i32 1, i32 %a
  ret void
}
;;; store: atomic acquire
define void @f(ptr %a) {
  store atomic i32 1, ptr %a acquire, align 4
  ret void
}
;;; store: no value
define void @f(ptr %a) {
  store ptr %a
  ret void
}
;;; alloca: void
define void @f() {
  %x = alloca void
  ret void
}
;;; alloca: count of floats
define void @f() {
  %x = alloca i32, float 1.0
  ret void
}
;;; alloca: alignment
define void @f() {
  %x = alloca i32, align 3
  ret void
}
;;; getelementptr: no such member
define void @f(ptr %a) {
  %x = getelementptr { i32 }, ptr %a, i32 0, i32 1
  ret void
}
;;; getelementptr: variable member
define void @f(ptr %a, i32 %k) {
  %x = getelementptr { i32, i32 }, ptr %a, i32 0, i32 %k
  ret void
}
;;; getelementptr: into a scalar
define void @f(ptr %a) {
  %x = getelementptr i32, ptr %a, i32 0, i32 1
  ret void
}
;;; getelementptr: of a number
define void @f(i32 %a) {
  %x = getelementptr i32, i32 %a, i32 0
  ret void
}
;;; getelementptr: float index
define void @f(ptr %a) {
  %x = getelementptr i32, ptr %a, float 1.0
  ret void
}
;;; getelementptr: unsized
%t = type opaque
define void @f(ptr %a) {
  %x = getelementptr %t, ptr %a, i32 1
  ret void
}
;;; getelementptr: void
define void @f(ptr %a) {
  %x = getelementptr void, ptr %a, i32 1
  ret void
}
;;; extractvalue: no such member
define void @f({ i32 } %a) {
  %x = extractvalue { i32 } %a, 1
  ret void
}
;;; extractvalue: no index
define void @f({ i32 } %a) {
  %x = extractvalue { i32 } %a
  ret void
}
;;; extractvalue: of a scalar
define void @f(i32 %a) {
  %x = extractvalue i32 %a, 0
  ret void
}
;;; insertvalue: another type
define void @f({ i32 } %a) {
  %x = insertvalue { i32 } %a, i8 1, 0
  ret void
}
;;; insertvalue: no such member
define void @f({ i32 } %a) {
  %x = insertvalue { i32 } %a, i32 1, 3
  ret void
}
;;; extractelement: of a scalar
define void @f(i32 %a) {
  %x = extractelement i32 %a, i32 0
  ret void
}
;;; insertelement: another type
define void @f(<2 x i32> %a) {
  %x = insertelement <2 x i32> %a, i8 0, i32 0
  ret void
}
;;; shufflevector: a lane too many
define void @f(<2 x i32> %a) {
  %x = shufflevector <2 x i32> %a, <2 x i32> %a, <2 x i32> <i32 0, i32 4>
  ret void
}
;;; shufflevector: a mask of another type
define void @f(<2 x i32> %a) {
  %x = shufflevector <2 x i32> %a, <2 x i32> %a, <2 x i64> <i64 0, i64 1>
  ret void
}
;;; atomicrmw: unknown operation
define void @f(ptr %a) {
  %x = atomicrmw mul ptr %a, i32 1 seq_cst
  ret void
}
;;; atomicrmw: unordered
define void @f(ptr %a) {
  %x = atomicrmw add ptr %a, i32 1 unordered
  ret void
}
;;; atomicrmw: add of floats
define void @f(ptr %a) {
  %x = atomicrmw add ptr %a, float 1.0 seq_cst
  ret void
}
;;; atomicrmw: fadd of integers
define void @f(ptr %a) {
  %x = atomicrmw fadd ptr %a, i32 1 seq_cst
  ret void
}
;;; atomicrmw: of a vector of integers
define void @f(ptr %a) {
  %x = atomicrmw add ptr %a, <2 x i32> <i32 1, i32 2> seq_cst
  ret void
}
;;; atomicrmw: odd size
define void @f(ptr %a) {
  %x = atomicrmw add ptr %a, i24 1 seq_cst
  ret void
}
;;; atomicrmw: xchg of a struct
define void @f(ptr %a, { i32 } %v) {
  %x = atomicrmw xchg ptr %a, { i32 } %v seq_cst
  ret void
}
;;; atomicrmw: and of a pointer
define void @f(ptr %a) {
  %x = atomicrmw and ptr %a, ptr %a seq_cst
  ret void
}
;;; atomicrmw: no pointer
define void @f(i32 %a) {
  %x = atomicrmw add i32 %a, i32 1 seq_cst
  ret void
}
;;; cmpxchg: types differ
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i32 1, i64 2 seq_cst seq_cst
  ret void
}
;;; cmpxchg: unordered success
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i32 1, i32 2 unordered monotonic
  ret void
}
;;; cmpxchg: unordered failure
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i32 1, i32 2 seq_cst unordered
  ret void
}
;;; cmpxchg: failure releases
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i32 1, i32 2 seq_cst release
  ret void
}
;;; cmpxchg: failure acquires and releases
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i32 1, i32 2 seq_cst acq_rel
  ret void
}
;;; cmpxchg: one ordering
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i32 1, i32 2 seq_cst
  ret void
}
;;; cmpxchg: of floats
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, float 1.0, float 2.0 seq_cst seq_cst
  ret void
}
;;; cmpxchg: odd size
define void @f(ptr %a) {
  %x = cmpxchg ptr %a, i24 1, i24 2 seq_cst seq_cst
  ret void
}
;;; fence: monotonic
define void @f() {
  fence monotonic
  ret void
}
;;; fence: unordered
define void @f() {
  fence unordered
  ret void
}
;;; fence: no ordering
define void @f() {
  fence
  ret void
}
;;; ret: another type
define i32 @f() {
  ret i64 0
}
;;; ret: void where a value is due
define i32 @f() {
  ret void
}
;;; br: condition
define void @f(i32 %a) {
  br i32 %a, label %x, label %x
x:
  ret void
}
;;; br: no label
define void @f(i1 %a) {
  br i1 %a, label %x, i32 1
x:
  ret void
}
;;; switch: a case twice
define void @f(i32 %a) {
  switch i32 %a, label %x [ i32 1, label %x
    i32 1, label %x ]
x:
  ret void
}
;;; switch: a case of another type
define void @f(i32 %a) {
  switch i32 %a, label %x [ i8 1, label %x ]
x:
  ret void
}
;;; switch: a variable case
define void @f(i32 %a) {
  switch i32 %a, label %x [ i32 %a, label %x ]
x:
  ret void
}
;;; switch: of floats
define void @f(float %a) {
  switch float %a, label %x [ float 1.0, label %x ]
x:
  ret void
}
;;; call: too few arguments
declare void @g(i32)
define void @f() {
  call void (i32) @g()
  ret void
}
;;; call: too many arguments
declare void @g(i32)
define void @f() {
  call void (i32) @g(i32 1, i32 2)
  ret void
}
;;; call: argument of another type
declare void @g(i32)
define void @f() {
  call void (i32) @g(i64 1)
  ret void
}
;;; call: of a number
define void @f(i32 %a) {
  call void %a()
  ret void
}
;;; call: fast math on an integer
declare i32 @g()
define void @f() {
  %x = call fast i32 @g()
  ret void
}
;;; call: tail of nothing
define void @f() {
  tail ret void
}
;;; call: musttail not before a return
declare void @g()
define void @f() {
  musttail call void @g()
  fence seq_cst
  ret void
}
;;; call: unknown intrinsic's name taken as a value
declare void @llvm.donothing()
define void @f(ptr %p) {
  store ptr @llvm.donothing, ptr %p
  ret void
}
;;; asm: too few operands
define void @f() {
  call void asm "nop", "r"()
  ret void
}
;;; asm: broken constraint
define void @f() {
  call void asm "nop", "{r"()
  ret void
}
;;; asm: output behind an input
define void @f() {
  %x = call i32 asm "nop", "r,=r"(i32 1)
  ret void
}
;;; bundle: twice a tag
declare void @g()
define void @f() {
  call void @g() [ "deopt"(), "deopt"() ]
  ret void
}
;;; unknown instruction
define void @f() {
  frobnicate i32 1
  ret void
}
;;; a string that is not closed
@x = global [2 x i8] c"ab
;;; a token that is none
@x = global i32 0 ?
;;; a top-level word
nonsense @x
;;; uselistorder: not distinct
define i32 @f(i32 %a) {
  %x = add i32 %a, %a
  ret i32 %x
  uselistorder i32 %a, { 0, 0 }
}
;;; uselistorder: no change
define i32 @f(i32 %a) {
  %x = add i32 %a, %a
  ret i32 %x
  uselistorder i32 %a, { 0, 1 }
}
;;; uselistorder: one index
define i32 @f(i32 %a) {
  %x = add i32 %a, %a
  ret i32 %x
  uselistorder i32 %a, { 0 }
}
;;; uselistorder: empty
define i32 @f(i32 %a) {
  %x = add i32 %a, %a
  ret i32 %x
  uselistorder i32 %a, {}
}
;;; uselistorder: beyond the uses
define i32 @f(i32 %a) {
  %x = add i32 %a, %a
  ret i32 %x
  uselistorder i32 %a, { 2, 0 }
}
;;; uselistorder: too many for the uses
define i32 @f(i32 %a) {
  %x = add i32 %a, %a
  ret i32 %x
  uselistorder i32 %a, { 2, 0, 1 }
}
;;; float literal: hexadecimal beyond the type
@x = global float 0x3DA5FD7FE0000001
;;; half literal: pattern of another type
@x = global float 0xH0001
;;; integer literal: true for i32
@x = global i32 true
;;; null of a number
@x = global i32 null
;;; token type in a variable
@x = global token none
;;; metadata as a value
define void @f() {
  store metadata !{}, ptr null
  ret void
}
;;; landing pad: without a clause
define void @f() personality ptr null {
  %x = landingpad i32
  ret void
}
;;; resume outside of a landing pad
define void @f() {
  resume
}
;;; invoke without an unwind label
declare void @g()
define void @f() {
  invoke void @g() to label %x
x:
  ret void
}
;;; llvm.used: of another type
@llvm.used = appending global [1 x i32] [i32 0], section "llvm.metadata"
;;; module flag: wrong shape
!llvm.module.flags = !{!0}
!0 = !{i32 1}
;;; module flag: behaviour unknown
!llvm.module.flags = !{!0}
!0 = !{i32 9999, !"x", i32 1}
;;; llvm.ident: no string
!llvm.ident = !{!0}
!0 = !{i32 1}
;;; range: of another type
define void @f(ptr %a) {
  %x = load i32, ptr %a, !range !0
  ret void
}
!0 = !{i8 0, i8 1}
;;; range: odd number of bounds
define void @f(ptr %a) {
  %x = load i32, ptr %a, !range !0
  ret void
}
!0 = !{i32 0}
;;; range: of a store
define void @f(ptr %a) {
  store i32 0, ptr %a, !range !0
  ret void
}
!0 = !{i32 0, i32 1}
;;; constant expression: division
@x = global i32 udiv (i32 4, i32 2)
;;; constant expression: getelementptr without a pointer
@x = global ptr getelementptr (i32, i32 0, i32 1)
;;; constant expression: cast that is none
@x = global i32 ptrtoint (i32 0 to i32)
;;; constant expression: types differ
@x = global i32 add (i32 1, i64 2)
;;; constant expression: select
@x = global i32 select (i1 true, i32 1, i32 2)
;;; getelementptr: a member told by an i64
define void @f(ptr %p) {
  %r = getelementptr {i32, i32}, ptr %p, i64 0, i64 1
  ret void
}
;;; getelementptr: vectors of different lengths
define void @f() {
  %r = getelementptr i32, <2 x ptr> undef, <3 x i32> zeroinitializer
  ret void
}
;;; attachment: undefined node
define void @f() {
  ret void, !foo !7
}
;;; function: alignment no power of two
define void @f() align 3 {
  ret void
}
;;; intrinsic: another result
declare i64 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @f() {
  %r = call i64 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret void
}
;;; intrinsic: another operand
declare float @llvm.sqrt.f32(i32)
define void @f() {
  %r = call float @llvm.sqrt.f32(i32 1)
  ret void
}
;;; intrinsic: variable for a literal
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @f(ptr %p, i1 %v) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 1, i1 %v)
  ret void
}
;;; intrinsic: with a body
define void @llvm.trap() {
  ret void
}
;;; musttail: unlike its caller
declare void @g()
define void @f(i32 %a) {
  musttail call void @g()
  ret void
}
;;; range: empty
define void @f(ptr %p) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{i32 1, i32 1}
;;; nonnull: of an integer
define void @f(ptr %p) {
  %r = load i32, ptr %p, !nonnull !0
  ret void
}
!0 = !{}
;;; tbaa: no access tag
define void @f(ptr %p) {
  %r = load i32, ptr %p, !tbaa !0
  ret void
}
!0 = !{i32 1}
;;; constructors: of numbers
@llvm.global_ctors = appending global [1 x i32] [i32 1]
;;; dominance: a use in a block that the definition does not dominate
define void @f(i1 %c, ptr %p) {
entry:
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  store i32 %x, ptr %p
  ret void
}
;;; dominance: an instruction that uses itself
define void @f(ptr %p) {
  %x = add i32 %x, 2
  store i32 %x, ptr %p
  ret void
}
;;; dominance: a phi's value that does not dominate the end of its block
define i32 @f(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %c1
b:
  br label %c1
c1:
  %p = phi i32 [ %x, %a ], [ %x, %b ]
  ret i32 %p
}
;;; attribute: align of a parameter that is no pointer
define void @f(i32 align 4 %x) {
  ret void
}
;;; parameter of type token
define void @f(token %x) {
  ret void
}
;;; parameter of type metadata
declare void @f(metadata)
