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
;;; linkage: two of them
@a = internal external global i32
;;; linkage: behind the visibility
@a = hidden internal global i32 0
;;; linkage: visibility twice
@a = hidden protected global i32 0
;;; linkage: dllimport and dllexport
@a = dllimport dllexport global i32 0
;;; linkage: unnamed_addr behind the address space
@a = addrspace(1) unnamed_addr global i32 0
;;; linkage: externally_initialized before the address space
@a = externally_initialized addrspace(1) global i32 0
;;; linkage: dso_local behind dllexport
@a = dllexport dso_local global i32 0
;;; linkage: dllimport and dso_local
declare dso_local dllimport void @f()
;;; linkage: dllimport defined
define dllimport void @f() {
  ret void
}
;;; linkage: dllimport with a value
@a = dllimport global i32 0
;;; linkage: private dllexport
@a = private dllexport global i32 0
;;; linkage: constant and global
@a = constant global i32 0
;;; linkage: common in a constant space is no constant
@a = common constant i32 0
;;; linkage: extern_weak with a value
@a = extern_weak global i32 0
;;; linkage: available_externally of a declaration
declare available_externally void @f()
;;; linkage: appending without a value
@a = appending global [1 x i32]
;;; function: unnamed_addr before the type
define unnamed_addr void @f() {
  ret void
}
;;; function: unnamed_addr behind attributes
define void @f() nounwind unnamed_addr {
  ret void
}
;;; function: attribute behind a section
define void @f() section "s" nounwind {
  ret void
}
;;; function: section twice
define void @f() section "s" section "t" {
  ret void
}
;;; function: gc before align
define void @f() gc "g" align 4 {
  ret void
}
;;; function: section no string
define void @f() section s {
  ret void
}
;;; function: unknown word behind the parameters
define void @f() frob {
  ret void
}
;;; function: convention unknown
define fancycc void @f() {
  ret void
}
;;; function: addrspace too large
define void @f() addrspace(16777216) {
  ret void
}
;;; function: declared with a body
declare void @f() {
  ret void
}
;;; function: void parameter in a type
@p = external global void (void)*
;;; attribute: group with a word that LLVM has not
define void @f() #0 {
  ret void
}
attributes #0 = { frobnicate }
;;; attribute: a word that LLVM has not on a parameter
declare void @f(ptr frobnicate)
;;; attribute: byval of void
declare void @f(ptr byval(void))
;;; attribute: byval of a label
declare void @f(ptr byval(label))
;;; attribute: byval of an opaque struct
%o = type opaque
define void @f(ptr byval(%o) %p) {
  ret void
}
;;; attribute: sret with a result
define i32 @f(ptr sret(i32) %p) {
  ret i32 0
}
;;; attribute: sret twice
declare void @f(ptr sret(i32), ptr sret(i32))
;;; attribute: nest twice
declare void @f(ptr nest, ptr nest)
;;; attribute: inalloca not last
declare void @f(ptr inalloca(i32), i32)
;;; attribute: byval and inreg with nest
declare void @f(ptr byval(i32) nest)
;;; attribute: byref and byval
declare void @f(ptr byref(i32) byval(i32))
;;; attribute: sret and returned
declare ptr @f(ptr sret(i32) returned)
;;; attribute: inalloca and readonly
declare void @f(ptr inalloca(i32) readonly)
;;; attribute: swiftself twice
declare void @f(ptr swiftself, ptr swiftself)
;;; attribute: swifterror twice
declare void @f(ptr swifterror, ptr swifterror)
;;; attribute: signext of a pointer
declare void @f(ptr signext)
;;; attribute: zeroext of a vector of floats
declare void @f(<2 x float> zeroext)
;;; attribute: readonly and writeonly
declare void @f(ptr readonly writeonly)
;;; attribute: writeonly and readnone
declare void @f(ptr writeonly readnone)
;;; attribute: noalias of a result that is a number
declare noalias i32 @f()
;;; attribute: byval of a result
declare byval(i32) ptr @f()
;;; attribute: sret of a result
declare sret(i32) ptr @f()
;;; attribute: nocapture of a result
declare nocapture ptr @f()
;;; attribute: returned of a result
declare returned ptr @f()
;;; attribute: nest of a result
declare nest ptr @f()
;;; attribute: readonly of a result
declare readonly ptr @f()
;;; attribute: nonnull of void
declare nonnull void @f()
;;; attribute: noundef of void
declare noundef void @f()
;;; attribute: signext of void
declare signext void @f()
;;; attribute: align of void
declare align 8 void @f()
;;; attribute: immarg of a function that is no intrinsic
declare void @f(i32 immarg)
;;; attribute: nofpclass of an integer
declare void @f(i32 nofpclass(nan))
;;; attribute: nofpclass too large
declare void @f(float nofpclass(1024))
;;; attribute: nofpclass unknown class
declare void @f(float nofpclass(small))
;;; attribute: range of a pointer
declare void @f(ptr range(i32 0, 4))
;;; attribute: range without a type
declare void @f(i32 range(0, 4))
;;; attribute: align too large
declare void @f(ptr align 8589934592)
;;; attribute: align without a number
declare void @f(ptr align)
;;; attribute: dereferenceable without a number
declare void @f(ptr dereferenceable)
;;; attribute: dereferenceable_or_null of zero
declare void @f(ptr dereferenceable_or_null(0))
;;; attribute: elementtype of a function
declare void @f(ptr elementtype(i32))
;;; attribute: elementtype without a type
declare void @llvm.x(ptr elementtype)
;;; attribute: writable without a size
declare void @f(i32 writable)
;;; attribute: dead_on_unwind of a number
declare void @f(i32 dead_on_unwind)
;;; attribute: initializes not in order
declare void @f(ptr initializes((4, 8), (0, 4)))
;;; attribute: allocptr of a number
declare void @f(i32 allocptr)
;;; attribute: allockind of nothing
declare ptr @f() allockind("")
;;; attribute: allockind unknown
declare ptr @f() allockind("frob")
;;; attribute: allockind alloc and realloc
declare ptr @f() allockind("alloc,realloc")
;;; attribute: vscale_range no power of two
declare void @f() vscale_range(3, 8)
;;; attribute: vscale_range in wrong order
declare void @f() vscale_range(8, 4)
;;; attribute: vscale_range of zero
declare void @f() vscale_range(0, 4)
;;; attribute: alignstack no power of two
declare void @f() alignstack(3)
;;; attribute: alignstack of zero
declare void @f() alignstack(0)
;;; attribute: memory default behind a place
declare void @f() memory(argmem: read, none)
;;; attribute: memory empty
declare void @f() memory()
;;; attribute: uwtable of a word
declare void @f() uwtable(frob)
;;; attribute: optnone and optsize
define void @f() noinline optnone optsize {
  ret void
}
;;; attribute: optnone and minsize
define void @f() noinline optnone minsize {
  ret void
}
;;; attribute: optnone and optdebug
define void @f() noinline optnone optdebug {
  ret void
}
;;; attribute: optdebug and optsize
define void @f() optdebug optsize {
  ret void
}
;;; attribute: presplitcoroutine of a result
declare presplitcoroutine ptr @f()
;;; attribute: builtin of a function
declare void @f() builtin
;;; attribute: allocsize without a number
declare ptr @f(i32) allocsize()
;;; attribute: naked on a parameter
declare void @f(ptr naked)
;;; attribute: convergent on a parameter
declare void @f(ptr convergent)
;;; attribute: nocapture on a function
declare void @f() nocapture
;;; attribute: zeroext on a function
declare void @f() zeroext
;;; attribute: dereferenceable on a function
declare void @f() dereferenceable(4)
;;; attribute: align on a function group
define void @f() #0 {
  ret void
}
attributes #0 = { sret(i32) }
;;; attribute: frame-pointer of an unknown kind
define void @f() "frame-pointer"="some" {
  ret void
}
;;; attribute: string without a value
define void @f() "a"= {
  ret void
}
;;; attribute: group without braces
attributes #0 = nounwind
;;; attribute: group number missing
attributes # = { nounwind }
;;; call: immarg of what is no intrinsic
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(i32 immarg 3)
  ret void
}
declare void @g(i32)
;;; call: nonnull of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(i32 nonnull 3)
  ret void
}
declare void @g(i32)
;;; call: byval in the call of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(i32 byval(i32) 3)
  ret void
}
declare void @g(i32)
;;; call: a function attribute on an argument
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(i32 nounwind 3)
  ret void
}
declare void @g(i32)
;;; call: a parameter attribute behind
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(i32 3) zeroext
  ret void
}
declare void @g(i32)
;;; call: a kernel
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call ptx_kernel void @g(i32 3, float)
  ret void
}
declare void @g(i32)
;;; call: metadata to a plain function
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(metadata i32 3)
  ret void
}
declare void @g(i32)
;;; call: notail musttail
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  notail musttail call void @g(i32 3)
  ret void
}
declare void @g(i32)
;;; call: inline asm through tail flags
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  tail fast call void @g(i32 3)
  ret void
}
declare void @g(i32)
;;; call: result of a label type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call label @g(i32 3)
  ret void
}
declare void @g(i32)
;;; call: a variadic too few
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void (i32, ...) @g()
  ret void
}
declare void @g(i32, ...)
;;; call: variadic of another first type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void (i32, ...) @g(float %x)
  ret void
}
declare void @g(i32, ...)
;;; asm: clobber before an input
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void asm "x", "~{memory},r"(i32 %n)
  ret void
}
;;; asm: a result for no output
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 asm "x", "r"(i32 %n)
  ret void
}
;;; asm: two outputs in one number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 asm "x", "=r,=r"()
  ret void
}
;;; asm: struct of one output
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call {i32} asm "x", "=r"()
  ret void
}
;;; asm: too many members
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call {i32, i32, i32} asm "x", "=r,=r"()
  ret void
}
;;; asm: too many arguments
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void asm "x", "r"(i32 %n, i32 %n)
  ret void
}
;;; asm: constraints no string
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void asm "x", r(i32 %n)
  ret void
}
;;; asm: tied to what is no output
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 asm "x", "=r,3"(i32 %n)
  ret void
}
;;; asm: an empty constraint
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void asm "x", "r,,r"(i32 %n, i32 %n)
  ret void
}
;;; asm: brace not closed
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void asm "x", "~{memory"()
  ret void
}
;;; asm: without a call
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 asm "x", "=r", %n
  ret void
}
;;; intrinsic: ctpop of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.ctpop.i32(i32 0, i1 0)
  ret void
}
declare i32 @llvm.ctpop.i32(i32, i1)
;;; intrinsic: memcpy of three
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.memcpy.p0.p0.i64(ptr undef, ptr undef, i64 0)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64)
;;; intrinsic: bswap of one byte
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i8 @llvm.bswap.i8(i8 0)
  ret void
}
declare i8 @llvm.bswap.i8(i8)
;;; intrinsic: bswap of three bytes
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i24 @llvm.bswap.i24(i24 0)
  ret void
}
declare i24 @llvm.bswap.i24(i24)
;;; intrinsic: abs without its flag
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.abs.i32(i32 0)
  ret void
}
declare i32 @llvm.abs.i32(i32)
;;; intrinsic: abs of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.abs.f32(float 0.0, i1 0)
  ret void
}
declare float @llvm.abs.f32(float, i1)
;;; intrinsic: sqrt of an integer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.sqrt.i32(i32 0)
  ret void
}
declare i32 @llvm.sqrt.i32(i32)
;;; intrinsic: fma of two types
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.fma.f32(float 0.0, double 0.0, float 0.0)
  ret void
}
declare float @llvm.fma.f32(float, double, float)
;;; intrinsic: memset of a word
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.memset.p0.i64(ptr undef, i32 0, i64 0, i1 0)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i32, i64, i1)
;;; intrinsic: overflow without a flag
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.uadd.with.overflow.i32(i32 0, i32 0)
  ret void
}
declare i32 @llvm.uadd.with.overflow.i32(i32, i32)
;;; intrinsic: overflow of a flag of eight bits
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call {i32, i8} @llvm.sadd.with.overflow.i32(i32 0, i32 0)
  ret void
}
declare {i32, i8} @llvm.sadd.with.overflow.i32(i32, i32)
;;; intrinsic: is.fpclass of a long mask
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i1 @llvm.is.fpclass.f32(float 0.0, i64 0)
  ret void
}
declare i1 @llvm.is.fpclass.f32(float, i64)
;;; intrinsic: is.fpclass of lanes in one bit
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i1 @llvm.is.fpclass.v4f32(<4 x float> undef, i32 0)
  ret void
}
declare i1 @llvm.is.fpclass.v4f32(<4 x float>, i32)
;;; intrinsic: reduction of another element
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.vector.reduce.add.v4i64(<4 x i64> undef)
  ret void
}
declare i32 @llvm.vector.reduce.add.v4i64(<4 x i64>)
;;; intrinsic: reduction of floats by add
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.vector.reduce.add.v4f32(<4 x float> undef)
  ret void
}
declare float @llvm.vector.reduce.add.v4f32(<4 x float>)
;;; intrinsic: fadd reduction without a start
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.vector.reduce.fadd.v4f32(<4 x float> undef)
  ret void
}
declare float @llvm.vector.reduce.fadd.v4f32(<4 x float>)
;;; intrinsic: masked load without its alignment
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr undef, <4 x i1> undef, <4 x i32> undef)
  ret void
}
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)
;;; intrinsic: masked load of another mask
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr undef, i32 0, <8 x i1> undef, <4 x i32> undef)
  ret void
}
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <8 x i1>, <4 x i32>)
;;; intrinsic: assume of a word
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.assume(i32 0)
  ret void
}
declare void @llvm.assume(i32)
;;; intrinsic: expect of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.expect.f32(float 0.0, float 0.0)
  ret void
}
declare float @llvm.expect.f32(float, float)
;;; intrinsic: trap with an operand
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.trap(i32 0)
  ret void
}
declare void @llvm.trap(i32)
;;; intrinsic: special register of 64 bits
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i64 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret void
}
declare i64 @llvm.nvvm.read.ptx.sreg.tid.x()
;;; intrinsic: special register with an operand
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(i32 0)
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x(i32)
;;; intrinsic: barrier with an operand
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.nvvm.barrier0(i32 0)
  ret void
}
declare void @llvm.nvvm.barrier0(i32)
;;; intrinsic: shuffle without its mask
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 0, i32 0, i32 0)
  ret void
}
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32)
;;; intrinsic: shuffle of a float as a word
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.nvvm.shfl.sync.up.i32(i32 0, float 0.0, i32 0, i32 0)
  ret void
}
declare float @llvm.nvvm.shfl.sync.up.i32(i32, float, i32, i32)
;;; intrinsic: vote of a word
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i1 @llvm.nvvm.vote.all.sync(i32 0, i32 0)
  ret void
}
declare i1 @llvm.nvvm.vote.all.sync(i32, i32)
;;; intrinsic: ex2 of a word
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.nvvm.ex2.approx.f(i32 0)
  ret void
}
declare float @llvm.nvvm.ex2.approx.f(i32)
;;; intrinsic: mbarrier in another space
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.nvvm.mbarrier.init.shared(ptr undef, i32 0)
  ret void
}
declare void @llvm.nvvm.mbarrier.init.shared(ptr, i32)
;;; intrinsic: cp.async with spaces exchanged
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(1) undef, ptr addrspace(3) undef)
  ret void
}
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(1), ptr addrspace(3))
;;; intrinsic: funnel shift of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.fshl.i32(i32 0, i32 0)
  ret void
}
declare i32 @llvm.fshl.i32(i32, i32)
;;; intrinsic: three-way comparison in one bit
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i1 @llvm.ucmp.i1.i32(i32 0, i32 0)
  ret void
}
declare i1 @llvm.ucmp.i1.i32(i32, i32)
;;; intrinsic: fixed point without a scale
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.smul.fix.i32(i32 0, i32 0)
  ret void
}
declare i32 @llvm.smul.fix.i32(i32, i32)
;;; intrinsic: constrained without a rounding
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.experimental.constrained.fadd.f32(float 0.0, float 0.0)
  ret void
}
declare float @llvm.experimental.constrained.fadd.f32(float, float)
;;; intrinsic: predicated without a length
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <4 x i32> @llvm.vp.add.v4i32(<4 x i32> undef, <4 x i32> undef, <4 x i1> undef)
  ret void
}
declare <4 x i32> @llvm.vp.add.v4i32(<4 x i32>, <4 x i32>, <4 x i1>)
;;; intrinsic: lifetime of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.lifetime.start.p0(i64 0, i64 0)
  ret void
}
declare void @llvm.lifetime.start.p0(i64, i64)
;;; intrinsic: prefetch of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.prefetch.p0(ptr undef, i32 0)
  ret void
}
declare void @llvm.prefetch.p0(ptr, i32)
;;; intrinsic: a name that LLVM has not, variadic
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void (...) @llvm.trap()
  ret void
}
declare void @llvm.trap(...)
;;; intrinsic: abs with a flag that varies
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.abs.i32(i32 %n, i1 %c)
  ret void
}
declare i32 @llvm.abs.i32(i32, i1)
;;; intrinsic: is.fpclass beyond its classes
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i1 @llvm.is.fpclass.f32(float %x, i32 1024)
  ret void
}
declare i1 @llvm.is.fpclass.f32(float, i32)
;;; intrinsic: prefetch of locality four
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 4, i32 1)
  ret void
}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
;;; intrinsic: masked alignment no power of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 3, <4 x i1> zeroinitializer, <4 x i32> %v)
  ret void
}
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
;;; intrinsic: constrained of an unknown rounding
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call float @llvm.experimental.constrained.fadd.f32(float %x, float %x, metadata !"round.some", metadata !"fpexcept.ignore")
  ret void
}
declare float @llvm.experimental.constrained.fadd.f32(float, float, metadata, metadata)
;;; intrinsic: constrained comparison of an unknown test
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i1 @llvm.experimental.constrained.fcmp.f32(float %x, float %x, metadata !"huh", metadata !"fpexcept.ignore")
  ret void
}
declare i1 @llvm.experimental.constrained.fcmp.f32(float, float, metadata, metadata)
;;; intrinsic: its address in memory
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store ptr @llvm.ctpop.i32, ptr %p
  ret void
}
declare i32 @llvm.ctpop.i32(i32)
;;; intrinsic: vector insert beyond the end
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <4 x i32> @llvm.vector.insert.v4i32.v2i32(<4 x i32> %v, <2 x i32> zeroinitializer, i64 3)
  ret void
}
declare <4 x i32> @llvm.vector.insert.v4i32.v2i32(<4 x i32>, <2 x i32>, i64)
;;; intrinsic: vector extract beyond the end
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <2 x i32> @llvm.vector.extract.v2i32.v4i32(<4 x i32> %v, i64 3)
  ret void
}
declare <2 x i32> @llvm.vector.extract.v2i32.v4i32(<4 x i32>, i64)
;;; intrinsic: splice beyond the end
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call <4 x i32> @llvm.vector.splice.v4i32(<4 x i32> %v, <4 x i32> %v, i32 5)
  ret void
}
declare <4 x i32> @llvm.vector.splice.v4i32(<4 x i32>, <4 x i32>, i32)
;;; intrinsic: scale of fixed point too large
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @llvm.smul.fix.i32(i32 %n, i32 %n, i32 32)
  ret void
}
declare i32 @llvm.smul.fix.i32(i32, i32, i32)
;;; intrinsic: ptrmask of another width
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call ptr @llvm.ptrmask.p0.i32(ptr %p, i32 %n)
  ret void
}
declare ptr @llvm.ptrmask.p0.i32(ptr, i32)
;;; intrinsic: frame address in a variable depth
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call ptr @llvm.frameaddress.p0(i32 %n)
  ret void
}
declare ptr @llvm.frameaddress.p0(i32)
;;; alloca: count of a pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = alloca i32, ptr %p
  ret void
}
;;; alloca: opaque
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = alloca %o
  ret void
}
%o = type opaque
;;; alloca: of a struct that contains an opaque one
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = alloca %s
  ret void
}
%s = type { i32, %o }
%o = type opaque
;;; alloca: of a struct that contains itself
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = alloca %s
  ret void
}
%s = type { i32, %s }
;;; alloca: address space first
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = alloca addrspace(5) i32
  ret void
}
;;; load: nontemporal word
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load nontemporal i32, ptr %p
  ret void
}
;;; load: of a function type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load void (), ptr %p
  ret void
}
;;; load: atomic vector of pointers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load atomic <2 x ptr>, ptr %p seq_cst, align 16
  ret void
}
;;; load: acq_rel
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load atomic i32, ptr %p acq_rel, align 4
  ret void
}
;;; load: ordering without atomic
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load i32, ptr %p seq_cst, align 4
  ret void
}
;;; load: volatile before atomic
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load volatile atomic i32, ptr %p seq_cst, align 4
  ret void
}
;;; load: scope without atomic
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = load i32, ptr %p syncscope("block")
  ret void
}
;;; store: void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store void undef, ptr %p
  ret void
}
;;; store: a label
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store label %x, ptr %p
  ret void
}
;;; store: atomic of i1
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store atomic i1 %c, ptr %p seq_cst, align 1
  ret void
}
;;; store: atomic acq_rel
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store atomic i32 %n, ptr %p acq_rel, align 4
  ret void
}
;;; store: has a name
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = store i32 %n, ptr %p
  ret void
}
;;; fence: has a name
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fence seq_cst
  ret void
}
;;; fence: scope behind the ordering
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  fence seq_cst syncscope("block")
  ret void
}
;;; atomicrmw: nand of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw nand ptr %p, float %x seq_cst
  ret void
}
;;; atomicrmw: without an ordering
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw add ptr %p, i32 %n
  ret void
}
;;; atomicrmw: value of a label
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw xchg ptr %p, label %f seq_cst
  ret void
}
;;; atomicrmw: no comma
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw add ptr %p i32 %n seq_cst
  ret void
}
;;; atomicrmw: alignment no power of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw add ptr %p, i32 %n seq_cst, align 3
  ret void
}
;;; atomicrmw: uinc_wrap of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw uinc_wrap ptr %p, float %x seq_cst
  ret void
}
;;; atomicrmw: fmax of an integer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw fmax ptr %p, i32 %n seq_cst
  ret void
}
;;; cmpxchg: of a vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg ptr %p, <4 x i32> %v, <4 x i32> %v seq_cst seq_cst
  ret void
}
;;; cmpxchg: no pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg i32 %n, i32 1, i32 2 seq_cst seq_cst
  ret void
}
;;; cmpxchg: weak behind volatile
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg volatile weak ptr %p, i32 1, i32 2 seq_cst seq_cst
  ret void
}
;;; getelementptr: no source type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr ptr %p, i32 1, label %x
  ret void
}
;;; getelementptr: inrange in an instruction
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr inrange(0, 4) i8, ptr %p, i64 1
  ret void
}
;;; getelementptr: scalable bounds
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr inbounds nuw nsw nuw fast i8, ptr %p, i64 1
  ret void
}
;;; getelementptr: index of a struct by a vector that differs
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr {i32, i32}, <2 x ptr> zeroinitializer, <2 x i32> zeroinitializer, <2 x i32> <i32 0, i32 1>
  ret void
}
;;; extractvalue: variable index
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue {i32, i32} undef, i32 %n
  ret void
}
;;; extractvalue: array index beyond
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue [2 x i32] undef, 2
  ret void
}
;;; insertvalue: of a vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = insertvalue <4 x i32> %v, i32 %n, 0
  ret void
}
;;; extractelement: float index
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractelement <4 x i32> %v, float %x
  ret void
}
;;; insertelement: into a scalar
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = insertelement i32 %n, i32 %n, i32 0
  ret void
}
;;; shufflevector: of scalars
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shufflevector i32 %n, i32 %n, <2 x i32> zeroinitializer
  ret void
}
;;; shufflevector: of two types
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shufflevector <4 x i32> %v, <2 x i32> zeroinitializer, <2 x i32> zeroinitializer
  ret void
}
;;; shufflevector: mask that varies
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shufflevector <4 x i32> %v, <4 x i32> %v, <4 x i32> %v
  ret void
}
;;; select: lanes of another count
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = select <2 x i1> zeroinitializer, <4 x i32> %v, <4 x i32> %v
  ret void
}
;;; select: a vector condition for scalars
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = select <2 x i1> zeroinitializer, i32 %n, i32 %n
  ret void
}
;;; select: fast of integers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = select fast i1 %c, i32 %n, i32 %n
  ret void
}
;;; freeze: void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = freeze void undef
  ret void
}
;;; freeze: a label
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = freeze label %f
  ret void
}
;;; va_arg: void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = va_arg ptr %p, void
  ret void
}
;;; fneg: with nuw
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fneg nuw float %x
  ret void
}
;;; icmp: samesign of floats
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp eq float %x, %x
  ret void
}
;;; icmp: of structs
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp eq {i32} undef, undef
  ret void
}
;;; icmp: ordered test
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp olt i32 %n, %n
  ret void
}
;;; fcmp: signed test
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fcmp slt float %x, %x
  ret void
}
;;; fcmp: no test
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fcmp float %x, %x
  ret void
}
;;; shl: exact
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shl exact i32 %n, 1
  ret void
}
;;; lshr: nuw
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = lshr nuw i32 %n, 1
  ret void
}
;;; or: nsw
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = or nsw i32 %n, 1
  ret void
}
;;; xor: disjoint
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = xor disjoint i32 %n, 1
  ret void
}
;;; sdiv: nuw
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = sdiv nuw i32 %n, 1
  ret void
}
;;; urem: exact
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = urem exact i32 %n, 1
  ret void
}
;;; and: floats
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = and float %x, %x
  ret void
}
;;; shl: floats
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shl float %x, %x
  ret void
}
;;; frem: integers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = frem i32 %n, %n
  ret void
}
;;; add: of two types
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %n, %l
  ret void
}
;;; add: of a vector and a scalar
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add <4 x i32> %v, %n
  ret void
}
;;; add: one operand
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %n
  ret void
}
;;; add: three operands
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %n, 1, 2
  ret void
}
;;; add: structs
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add {i32} undef, undef
  ret void
}
;;; zext: nsw
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = zext nsw i32 %n to i64
  ret void
}
;;; trunc: to more bits
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = trunc i32 %n to i64
  ret void
}
;;; trunc: floats
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = trunc float %x to i32
  ret void
}
;;; sext: of a vector to a scalar
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = sext <4 x i32> %v to i64
  ret void
}
;;; fpext: to fewer bits
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fpext double 1.0 to float
  ret void
}
;;; fptosi: to a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fptosi float %x to double
  ret void
}
;;; uitofp: of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = uitofp float %x to double
  ret void
}
;;; sitofp: nneg
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = sitofp nneg i32 %n to float
  ret void
}
;;; ptrtoint: of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = ptrtoint i32 %n to i64
  ret void
}
;;; ptrtoint: to a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = ptrtoint ptr %p to double
  ret void
}
;;; bitcast: of a pointer to a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = bitcast ptr %p to i64
  ret void
}
;;; bitcast: of a struct
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = bitcast {i32} undef to i32
  ret void
}
;;; addrspacecast: of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = addrspacecast i64 %l to ptr addrspace(1)
  ret void
}
;;; addrspacecast: lanes differ
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = addrspacecast <2 x ptr> zeroinitializer to <4 x ptr addrspace(1)>
  ret void
}
;;; cast: without to
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = zext i32 %n, i64
  ret void
}
;;; ret: of a label
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  ret label %f
}
;;; ret: two values
define i32 @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  ret i32 1, i32 2
}
;;; br: three targets
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br i1 %c, label %a, label %a, label %a
a:
  ret void
}
;;; br: to a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label 5
}
;;; br: of a vector condition
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br <2 x i1> zeroinitializer, label %a, label %a
a:
  ret void
}
;;; switch: a case that is no number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch i32 %n, label %a [ i32 undef, label %a ]
a:
  ret void
}
;;; switch: without a default
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch i32 %n, [ i32 1, label %a ]
a:
  ret void
}
;;; switch: of a pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch ptr %p, label %a []
a:
  ret void
}
;;; switch: a bracket missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch i32 %n, label %a [ i32 1, label %a
a:
  ret void
}
;;; unreachable: with a value
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  unreachable i32 1
}
;;; unreachable: has a name
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = unreachable
}
;;; phi: value of another type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a
a:
  %r = phi i32 [ %x, %0 ]
  ret void
}
;;; phi: a block that is none
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a
a:
  %r = phi i32 [ 1, %nowhere ]
  ret void
}
;;; phi: in the entry
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = phi i32 [ 1, %a ]
  br label %a
a:
  ret void
}
;;; phi: a pair without brackets
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a
a:
  %r = phi i32 1, %0
  ret void
}
;;; phi: fast of integers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a
a:
  %r = phi fast i32 [ 1, %0 ]
  ret void
}
;;; attachment: range of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load float, ptr %p, !range !0
  ret void
}
!0 = !{i32 0, i32 1}
;;; attachment: range not in order
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{i32 4, i32 8, i32 0, i32 2}
;;; attachment: range that overlaps
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{i32 0, i32 8, i32 4, i32 12}
;;; attachment: range that touches
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{i32 0, i32 4, i32 4, i32 12}
;;; attachment: nonnull with content
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load ptr, ptr %p, !nonnull !0
  ret void
}
!0 = !{i32 0}
;;; attachment: align of a store
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store ptr %p, ptr %p, !align !0
  ret void
}
!0 = !{i64 8}
;;; attachment: align of an i32
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load ptr, ptr %p, !align !0
  ret void
}
!0 = !{i32 8}
;;; attachment: dereferenceable of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !dereferenceable !0
  ret void
}
!0 = !{i64 8}
;;; attachment: dereferenceable of an i32
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load ptr, ptr %p, !dereferenceable !0
  ret void
}
!0 = !{i32 8}
;;; attachment: fpmath of an integer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %n, 1, !fpmath !0
  ret void
}
!0 = !{float 2.5}
;;; attachment: fpmath of a double
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fadd float %x, %x, !fpmath !0
  ret void
}
!0 = !{double 2.5}
;;; attachment: tbaa of a string
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !tbaa !0
  ret void
}
!0 = !{!"int"}
;;; attachment: branch weights of strings
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br i1 %c, label %a, label %a, !prof !0
a:
  ret void
}
!0 = !{!"branch_weights", !"a", !"b"}
;;; attachment: prof without a name
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br i1 %c, label %a, label %a, !prof !0
a:
  ret void
}
!0 = !{i32 1, i32 2}
;;; attachment: a name without a node
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !tbaa
  ret void
}
;;; attachment: twice the comma
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p,, !tbaa !0
  ret void
}
!0 = !{}
;;; module flag: a behaviour too large
!llvm.module.flags = !{!0}
!0 = !{i32 9, !"a", i32 1}
;;; module flag: twice
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"a", i32 1}
!1 = !{i32 1, !"a", i32 1}
;;; module flag: a name that is no string
!llvm.module.flags = !{!0}
!0 = !{i32 1, i32 1, i32 1}
;;; module flag: wchar_size of a string
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", !"x"}
;;; module flag: require of no pair
!llvm.module.flags = !{!0}
!0 = !{i32 3, !"a", i32 1}
;;; llvm.ident: two strings
!llvm.ident = !{!0}
!0 = !{!"a", !"b"}
;;; metadata: named twice in a list
!x = !{!0 !0}
!0 = !{}
;;; metadata: distinct string
!0 = distinct !"x"
;;; metadata: a list that is not closed
!0 = !{i32 1
;;; type: struct not closed
%a = type { i32
;;; type: pointer to void
@a = external global void*
;;; type: pointer to a label
@a = external global label*
;;; type: ptr of a type
@a = external global ptr i32
;;; type: array of functions
@a = external global [2 x void ()]
;;; type: negative array
@a = external global [-1 x i32]
;;; type: vector of arrays
@a = external global <2 x [2 x i32]>
;;; type: address space of a number
@a = external global i32 addrspace(1)
;;; type: alias of another later one
@a = external global %t
%t = type i32
;;; type: function with void among its parameters
@a = external global ptr
@b = alias void (i32, void), ptr @a
;;; type: i8388609
@a = external global i8388609
;;; type: metadata in a struct
%a = type { metadata }
;;; type: token in an array
@a = external global [2 x token]
;;; constant: an array of another type
@a = global [2 x i32] [i32 1, i64 2]
;;; constant: an array that is too long
@a = global [2 x i32] [i32 1, i32 2, i32 3]
;;; constant: struct for an array
@a = global [2 x i32] {i32 1, i32 2}
;;; constant: packed for a struct
@a = global {i32, i32} <{i32 1, i32 2}>
;;; constant: vector for an array
@a = global [2 x i32] <i32 1, i32 2>
;;; constant: string for words
@a = global [2 x i16] c"ab"
;;; constant: string too long
@a = global [2 x i8] c"abc"
;;; constant: null of a float
@a = global float null
;;; constant: a float in an integer
@a = global i32 1.0
;;; constant: an integer in a float
@a = global float 1
;;; constant: an integer for a pointer
@a = global ptr 0
;;; constant: zeroinitializer of a label
@a = global label zeroinitializer
;;; constant: zeroinitializer of a function type
@a = global void () zeroinitializer
;;; constant: undef of void
@a = global void undef
;;; constant: poison of metadata
@a = global metadata poison
;;; constant: splat of another type
@a = global <2 x i32> splat (i64 1)
;;; constant: splat of an array
@a = global [2 x i32] splat (i32 1)
;;; constant: true of i8
@a = global i8 true
;;; constant: a symbol in an integer
@a = global i64 @a
;;; constant: a symbol that is not there
@a = global ptr @b
;;; constant: a symbol of another space
@a = global ptr @b
@b = addrspace(1) global i32 0
;;; constant: ptrtoint of a number
@a = global i64 ptrtoint (i32 1 to i64)
;;; constant: trunc to more
@a = global i64 trunc (i32 1 to i64)
;;; constant: add with a comma missing
@a = global i64 add (i64 1 i64 2)
;;; constant: shl is no expression
@a = global i64 shl (i64 1, i64 2)
;;; constant: and is no expression
@a = global i64 and (i64 1, i64 2)
;;; constant: zext is no expression
@a = global i64 zext (i32 1 to i64)
;;; constant: fadd is no expression
@a = global float fadd (float 1.0, float 2.0)
;;; constant: getelementptr index of a float
@b = global i32 0
@a = global ptr getelementptr (i8, ptr @b, float 1.0)
;;; constant: getelementptr into nothing
@b = global i32 0
@a = global ptr getelementptr (i32, ptr @b, i64 0, i64 1)
;;; constant: bfloat with a float's letter
@a = global bfloat 0xH1234
;;; constant: an exponent without digits
@a = global double 1.0e
;;; constant: a number without a point
@a = global double 1e5
;;; constant: two points
@a = global double 1.0.0
;;; constant: blockaddress of nothing
@a = global ptr blockaddress(@f, %x)
;;; variable: thread_local of an unknown model
@a = thread_local(fast) global i32 0
;;; variable: section no string
@a = global i32 0, section s
;;; variable: alignment of 2^33
@a = global i32 0, align 8589934592
;;; variable: alignment negative
@a = global i32 0, align -4
;;; variable: comma at the end
@a = global i32 0,
;;; variable: two on one
@a = global i32 0 1
;;; variable: no equals
@a global i32 0
;;; variable: address space without brackets
@a = addrspace 1 global i32 0
;;; alias: without a type
@a = alias @b
@b = global i32 0
;;; alias: of another space
@a = alias i32, ptr @b
@b = addrspace(1) global i32 0
;;; alias: extern_weak
@a = extern_weak alias i32, ptr @b
@b = global i32 0
;;; alias: cycle of two
@a = alias i32, ptr @b
@b = alias i32, ptr @a
;;; alias: private hidden
@a = private hidden alias i32, ptr @b
@b = global i32 0
;;; comdat: without a dollar
c = comdat any
;;; comdat: of a private declaration
$f = comdat any
declare void @f() comdat(f)
;;; comdat: on a declaration
$f = comdat any
declare void @f() comdat
;;; module asm: no string
module asm x
;;; source_filename: no string
source_filename = x
;;; target: no equals
target triple "nvptx64-nvidia-cuda"
;;; top level: an instruction
%x = add i32 1, 2
;;; top level: a number
42
;;; top level: ret
ret void
;;; function: parameters without a comma
define void @f(i32 %a i32 %b) {
  ret void
}
;;; function: parameter by a global's name
define void @f(i32 @a) {
  ret void
}
;;; function: token result
define token @f() {
  unreachable
}
;;; function: metadata result
declare metadata @f()
;;; function: brackets not closed
declare void @f(i32
;;; function: a number for its name
declare void 5()
;;; label: a number that is in use
define void @f() {
  %1 = add i32 1, 2
  br label %1
1:
  ret void
}
;;; label: at the end of nothing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a
a:
b:
  ret void
}
;;; value: of an outer function
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %outer, 1
  ret void
}
define void @g(i32 %outer) {
  ret void
}
;;; value: a global as a local
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %g
  ret void
}
@g = global i32 0
;;; value: a number named before
define void @f() {
  %5 = add i32 1, 2
  %3 = add i32 1, 2
  ret void
}
;;; value: two names
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %a = %b = add i32 1, 2
  ret void
}
;;; value: name of an instruction missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  = add i32 1, 2
  ret void
}
;;; value: undefined number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %99, 1
  ret void
}
;;; block: instructions behind the terminator that use nothing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  ret void
  %r = add i32 undefd, 1
  ret void
}
;;; uselistorder: of an unknown value
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  uselistorder i32 %zz, { 1, 0 }
  ret void
}
;;; attribute group: empty
attributes #7 = { }
;;; function: coldcc and variadic
declare coldcc void @f(i32, ...)
;;; intrinsic: not declared and none
define void @f() {
  call void @llvm.nonsense.i32(i32 1)
  ret void
}
;;; intrinsic: not declared, with another result
define void @f() {
  %r = call i64 @llvm.umin.i32(i32 1, i32 2)
  ret void
}
;;; lex: string escape at the end of the file
@a = constant [1 x i8] c"\
;;; lex: name not closed
@"a = global i32 0
;;; lex: a lone percent
define void @f() {
  % = add i32 1, 2
  ret void
}
;;; lex: a lone at
@ = global i32 0
;;; lex: a lone bang
! = !{}
;;; lex: a lone hash
define void @f() # {
  ret void
}
;;; lex: two dots
declare void @f(i32, ..)
;;; lex: backslash
@a = global i32 \0
;;; lex: a semicolon in a number
@a = global i32 1;0
0
;;; lex: integer type that is none
@a = global i 0
;;; lex: a float without digits in front
@a = global double .5
;;; lex: plus without digits
@a = global double +
;;; lex: sign and hexadecimal
@a = global double -0x1
;;; lex: s0x without digits
@a = global i32 s0x
;;; lex: u0x of wrong digits
@a = global i32 u0xG
;;; lex: keyword for a name
define void define() {
  ret void
}
;;; lex: an unknown symbol
@a = global i32 0 ?
;;; lex: braces closed twice
define void @f() {
  ret void
}}
;;; lex: brackets of another kind
@a = global [2 x i32} zeroinitializer
;;; lex: a label without a name
define void @f() {
:
  ret void
}
;;; lex: text in single quotes
@a = constant [1 x i8] c'a'
;;; body: nested function
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  define void @g() {
  }
  ret void
}
;;; body: a variable in it
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  @g = global i32 0
  ret void
}
;;; body: attributes in it
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  attributes #0 = { nounwind }
  ret void
}
;;; body: metadata in it
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  !0 = !{}
  ret void
}
;;; body: type in it
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %t = type { i32 }
  ret void
}
;;; body: declare in it
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  declare void @g()
  ret void
}
;;; order: phi behind a label and an add
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a
a:
  %z = add i32 1, 2
  %r = phi i32 [ 1, %0 ]
  ret void
}
;;; order: landing pad
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = landingpad { ptr, i32 } cleanup
  ret void
}
;;; label: a keyword's name as a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %4294967296
  ret void
}
;;; block: entry branched to by its name
define void @f() {
entry:
  br label %entry
}
;;; block: entry number branched to
define void @f() {
  br label %0
}
;;; alloca: inalloca with a void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca inalloca void
  ret void
}
;;; alloca: metadata
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca metadata
  ret void
}
;;; alloca: token
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca token
  ret void
}
;;; alloca: function type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca void ()
  ret void
}
;;; alloca: alignment too large
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca i32, align 8589934592
  ret void
}
;;; alloca: count twice
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca i32, i32 1, i32 2
  ret void
}
;;; alloca: negative number of what it allocates
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = alloca i32, i32
  ret void
}
;;; load: two pointers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, ptr %p
  ret void
}
;;; load: the old form
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load ptr %p
  ret void
}
;;; load: a metadata
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load metadata, ptr %p
  ret void
}
;;; load: of a vector of pointers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, <2 x ptr> zeroinitializer
  ret void
}
;;; store: of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store i32 1, i32 2, ptr %p
  ret void
}
;;; store: opaque
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store %o undef, ptr %p
  ret void
}
%o = type opaque
;;; store: alignment zero
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store i32 1, ptr %p, align 0
  ret void
}
;;; store: atomic without alignment
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store atomic i32 1, ptr %p seq_cst
  ret void
}
;;; store: atomic of an aggregate
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store atomic {i32} undef, ptr %p seq_cst, align 4
  ret void
}
;;; store: metadata behind no comma
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  store i32 1, ptr %p !x !{}
  ret void
}
;;; cmpxchg: pointer types differ
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg ptr %p, ptr null, i64 1 seq_cst seq_cst
  ret void
}
;;; cmpxchg: failure ordering missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg ptr %p, i32 1, i32 2 seq_cst
  ret void
}
;;; cmpxchg: i1
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg ptr %p, i1 0, i1 1 seq_cst seq_cst
  ret void
}
;;; cmpxchg: alignment no power of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = cmpxchg ptr %p, i32 1, i32 2 seq_cst seq_cst, align 5
  ret void
}
;;; atomicrmw: of i7
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw add ptr %p, i7 1 seq_cst
  ret void
}
;;; atomicrmw: xchg of a vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw xchg ptr %p, <4 x i32> %v seq_cst
  ret void
}
;;; atomicrmw: fadd of a vector of integers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw fadd ptr %p, <4 x i32> %v seq_cst
  ret void
}
;;; atomicrmw: of a struct
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw xchg ptr %p, {i32} undef seq_cst
  ret void
}
;;; atomicrmw: min of a pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw min ptr %p, ptr %p seq_cst
  ret void
}
;;; atomicrmw: scope before the operation
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = atomicrmw syncscope("a") add ptr %p, i32 1 seq_cst
  ret void
}
;;; fence: two orderings
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  fence acquire release
  ret void
}
;;; fence: scope no string
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  fence syncscope(agent) acquire
  ret void
}
;;; getelementptr: no index type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr i32, ptr %p, 1
  ret void
}
;;; getelementptr: old form
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr ptr %p, i32 1
  ret void
}
;;; getelementptr: struct index too large
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr {i32, i8}, ptr %p, i32 0, i32 2
  ret void
}
;;; getelementptr: through a pointer member
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr {ptr}, ptr %p, i32 0, i32 0, i32 1
  ret void
}
;;; getelementptr: of label
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr label, ptr %p, i32 0
  ret void
}
;;; getelementptr: struct member by i8
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = getelementptr {i32, i8}, ptr %p, i32 0, i8 1
  ret void
}
;;; extractvalue: of a pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue ptr %p, 0
  ret void
}
;;; extractvalue: too deep
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue {i32} undef, 0, 0
  ret void
}
;;; extractvalue: negative
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue {i32} undef, -1
  ret void
}
;;; extractvalue: of an empty struct
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue {} undef, 0
  ret void
}
;;; extractvalue: vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = extractvalue <4 x i32> %v, 0
  ret void
}
;;; insertvalue: no index
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = insertvalue {i32} undef, i32 1
  ret void
}
;;; insertvalue: of an opaque one
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = insertvalue %o undef, i32 1, 0
  ret void
}
%o = type opaque
;;; shufflevector: mask of i64
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i64> zeroinitializer
  ret void
}
;;; shufflevector: mask negative
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 -1, i32 0>
  ret void
}
;;; insertelement: index of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = insertelement <4 x i32> %v, i32 1, float 0.0
  ret void
}
;;; insertelement: vector in a vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = insertelement <4 x i32> %v, <4 x i32> %v, i32 0
  ret void
}
;;; select: number as condition
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = select i32 %n, i32 1, i32 2
  ret void
}
;;; select: three arms
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = select i1 %c, i32 1, i32 2, i32 3
  ret void
}
;;; select: void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = select i1 %c, void undef, void undef
  ret void
}
;;; icmp: of two pointer types
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp eq ptr %p, ptr addrspace(1) null
  ret void
}
;;; icmp: of vectors that differ
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp eq <4 x i32> %v, <2 x i32> zeroinitializer
  ret void
}
;;; icmp: samesign is no word of 19
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp foo i32 1, 2
  ret void
}
;;; icmp: of metadata
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = icmp eq metadata !{}, !{}
  ret void
}
;;; fcmp: of pointers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fcmp oeq ptr %p, %p
  ret void
}
;;; fneg: of a pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fneg ptr %p
  ret void
}
;;; fneg: two operands
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fneg float %x, %x
  ret void
}
;;; add: of labels
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add label %x, %x
  ret void
}
;;; add: void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add void undef, undef
  ret void
}
;;; fadd: vector of integers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fadd <4 x i32> %v, %v
  ret void
}
;;; shl: vector and scalar
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = shl <4 x i32> %v, 1
  ret void
}
;;; udiv: floats
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = udiv float %x, %x
  ret void
}
;;; trunc: to a pointer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = trunc i64 %l to ptr
  ret void
}
;;; zext: from a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = zext float %x to i64
  ret void
}
;;; zext: to a vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = zext i32 %n to <4 x i64>
  ret void
}
;;; sext: the same width
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = sext i32 %n to i32
  ret void
}
;;; fptrunc: the same
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fptrunc float %x to float
  ret void
}
;;; fpext: of integers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fpext i32 %n to double
  ret void
}
;;; bitcast: of void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = bitcast void undef to i32
  ret void
}
;;; bitcast: to a label
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = bitcast i32 %n to label
  ret void
}
;;; bitcast: array
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = bitcast [2 x i16] undef to i32
  ret void
}
;;; bitcast: pointers to another space
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = bitcast ptr %p to ptr addrspace(1)
  ret void
}
;;; inttoptr: vectors of other counts
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = inttoptr <4 x i32> %v to <2 x ptr>
  ret void
}
;;; ptrtoint: vector to scalar
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = ptrtoint <2 x ptr> zeroinitializer to i64
  ret void
}
;;; uitofp: pointers
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = uitofp ptr %p to float
  ret void
}
;;; call: asm as a value
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 1, asm "x", ""
  ret void
}
;;; call: of void type for a value
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call void @g()
  ret void
}
declare void @g()
;;; call: label argument
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(label %x)
  ret void
}
declare void @g(i32)
;;; call: brackets missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g
  ret void
}
declare void @g()
;;; call: a comma too many
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(i32 1,)
  ret void
}
declare void @g(i32)
;;; call: an argument without a type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g(1)
  ret void
}
declare void @g(i32)
;;; call: of a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void float %x()
  ret void
}
;;; call: result type of a struct's name missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call @g()
  ret void
}
declare void @g()
;;; call: musttail of a varargs
define void @f() {
  musttail call void (...) @g()
  ret void
}
declare void @g(...)
;;; call: bundle without a name
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g() [ (i32 1) ]
  ret void
}
declare void @g()
;;; call: two deopt bundles
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  call void @g() [ "deopt"(), "deopt"() ]
  ret void
}
declare void @g()
;;; call: intrinsic through invoke
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  invoke void @llvm.trap() to label %a unwind label %a
a:
  ret void
}
declare void @llvm.trap()
;;; switch: case label missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch i32 %n, label %a [ i32 1 ]
a:
  ret void
}
;;; switch: condition a vector
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch <4 x i32> %v, label %a []
a:
  ret void
}
;;; switch: commas between cases
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch i32 %n, label %a [ i32 1, label %a, i32 2, label %a ]
a:
  ret void
}
;;; switch: case wider
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  switch i32 %n, label %a [ i64 1, label %a ]
a:
  ret void
}
;;; br: one target of a condition
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br i1 %c, label %a
a:
  ret void
}
;;; br: label keyword missing
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br %a
a:
  ret void
}
;;; br: i32 1
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br i32 1, label %a, label %a
a:
  ret void
}
;;; indirectbr: of a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  indirectbr i32 %n, [label %a]
a:
  ret void
}
;;; ret: missing type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  ret 1
}
;;; ret: i32 in void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  ret i32 1
}
;;; resume: void
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  resume void undef
}
;;; unreachable: followed by a value
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  unreachable 1
}
;;; va_arg: no type
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = va_arg ptr %p
  ret void
}
;;; freeze: metadata
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = freeze metadata !{}
  ret void
}
;;; freeze: two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = freeze i32 1, 2
  ret void
}
;;; variable: initial value missing
@a = global i32
;;; variable: internal without a value
@a = internal global i32
;;; variable: weak without a value
@a = weak global i32
;;; variable: private constant without
@a = private constant i32
;;; variable: type token
@a = global token none
;;; variable: label
@a = external global label
;;; variable: its own undefined type
@a = global %t undef
;;; variable: local value
@a = global i32 %x
;;; variable: a string for a struct
@a = global {i8} c"a"
;;; variable: vector with too few
@a = global <4 x i32> <i32 1>
;;; variable: struct too few
@a = global {i32, i32} {i32 1}
;;; variable: nested type
@a = global [2 x [2 x i32]] [[2 x i32] zeroinitializer, [3 x i32] zeroinitializer]
;;; variable: none
@a = global i32 none
;;; variable: float nan word
@a = global float nanx
;;; variable: comdat of a declared one
$a = comdat any
@a = external global i32, comdat
;;; variable: appending of scalars
@a = appending global i32 0
;;; variable: common with alignment and value
@a = common global i32 1, align 4
;;; variable: common constant again
@a = common constant i32 0, align 4
;;; variable: externally_initialized twice
@a = externally_initialized externally_initialized global i32 0
;;; variable: unknown thread model
@a = thread_local(x) global i32 0
;;; variable: code model
@a = global i32 0, code_model "huge"
;;; function: external_weak definition
define extern_weak void @f() {
  ret void
}
;;; function: appending
define appending void @f() {
  ret void
}
;;; function: common
declare common void @f()
;;; function: private declaration
declare private void @f()
;;; function: internal declaration
declare internal void @f()
;;; function: linkonce declaration
declare linkonce void @f()
;;; function: kernel variadic
define ptx_kernel void @f(i32, ...) {
  ret void
}
;;; function: two bodies
define void @f() {
  ret void
}
define void @f() {
  ret void
}
;;; function: variable of its name
@f = global i32 0
declare void @f()
;;; function: label parameter name twice
declare void @f(i32 %a, i32 %a)
;;; function: argument attribute behind its name
declare void @f(i32 %a zeroext)
;;; function: parameter type missing
declare void @f(%a)
;;; function: prefix without a value
define void @f() prefix {
  ret void
}
;;; function: align no number
define void @f() align x {
  ret void
}
;;; function: attribute group no number
define void @f() #x {
  ret void
}
;;; alias: of a number
@a = alias i32, i32 5
;;; alias: undefined
@a = alias i32, ptr @b
;;; alias: common
@a = common alias i32, ptr @b
@b = global i32 0
;;; ifunc: no resolver
@a = ifunc void ()
;;; comdat: kind missing
$a = comdat
;;; comdat: quoted twice
$"a" = comdat any
$a = comdat any
;;; type: body twice
%a = type { i32 }
%a = type { i64 }
;;; type: opaque and a body
%a = type opaque { i32 }
;;; type: array of x
%a = type [4 i32]
;;; type: vector of metadata
%a = type <2 x metadata>
;;; type: function in a struct
%a = type { void () }
;;; type: angle brackets alone
%a = type <>
;;; type: pointer to metadata
%a = type metadata*
;;; type: address space negative
%a = type ptr addrspace(-1)
;;; type: too large an address space
%a = type ptr addrspace(16777216)
;;; md: forward to nothing
!x = !{!7}
;;; md: number twice in a list without comma
!0 = !{!1 !2}
!1 = !{}
!2 = !{}
;;; md: distinct without content
!0 = distinct
;;; md: bang alone inside
!0 = !{!}
;;; md: a bare string
!0 = !{"a"}
;;; md: named with a number inside
!x = !{i32 1}
;;; md: named of strings
!x = !{!"a"}
;;; md: symbol undefined
!0 = !{ptr @nothing}
;;; md: DILocation in no scope
!0 = !DILocation(line: 1, column: 2)
;;; md: wrong boolean
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: yes)
!1 = !DIFile(filename: "a", directory: "b")
;;; md: emission kind unknown
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: Some)
!1 = !DIFile(filename: "a", directory: "b")
;;; md: flags unknown
!0 = !DIDerivedType(tag: DW_TAG_member, baseType: null, flags: DIFlagFoo)
;;; md: negative size
!0 = !DIBasicType(name: "x", size: -8)
;;; md: subrange with a word
!0 = !DISubrange(count: x)
;;; md: enumerator of a string
!0 = !DIEnumerator(name: "a", value: "1")
;;; md: expression of an unknown code
!0 = !DIExpression(DW_OP_foo)
;;; md: expression of a string
!0 = !DIExpression("a")
;;; md: template without a name
!0 = !DITemplateTypeParameter(name: 5, type: null)
;;; md: an unknown node in an attachment
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 1, 2, !x !55
  ret void
}
;;; md: location as an integer
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 1, 2, !dbg 5
  ret void
}
;;; md: dbg record without brackets
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  #dbg_value
  ret void
}
;;; md: dbg record unknown
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  #dbg_foo(i32 1)
  ret void
}
;;; md: loop that is no node
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br label %a, !llvm.loop 5
a:
  ret void
}
;;; md: range with a float
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{float 1.0, float 2.0}
;;; md: range of one
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{i32 1}
;;; md: range empty node
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !range !0
  ret void
}
!0 = !{}
;;; md: align zero
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load ptr, ptr %p, !align !0
  ret void
}
!0 = !{i64 0}
;;; md: fpmath negative
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fadd float %x, %x, !fpmath !0
  ret void
}
!0 = !{float -1.0}
;;; md: fpmath of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = fadd float %x, %x, !fpmath !0
  ret void
}
!0 = !{float 1.0, float 2.0}
;;; md: prof of a missing weight
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  br i1 %c, label %a, label %a, !prof !0
a:
  ret void
}
!0 = !{!"branch_weights", i32 1}
;;; md: tbaa offset no number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load i32, ptr %p, !tbaa !0
  ret void
}
!0 = !{!1, !1, !"x"}
!1 = !{!"int", !2, i64 0}
!2 = !{!"root"}
;;; md: tbaa of an add
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = add i32 %n, 1, !tbaa !0
  ret void
}
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2, i64 0}
!2 = !{!"root"}
;;; md: nonnull of a call that gives a number
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = call i32 @g(), !nonnull !0
  ret void
}
declare i32 @g()
!0 = !{}
;;; md: dereferenceable of two
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c) {
  %r = load ptr, ptr %p, !dereferenceable !0
  ret void
}
!0 = !{i64 1, i64 2}
;;; md: flag behaviour a string
!llvm.module.flags = !{!0}
!0 = !{!"a", !"b", i32 1}
;;; md: flag of two members
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"b"}
;;; md: flag of min that is no number
!llvm.module.flags = !{!0}
!0 = !{i32 8, !"b", !"x"}
;;; md: flag of max that is no number
!llvm.module.flags = !{!0}
!0 = !{i32 7, !"b", !"x"}
;;; md: flag of append that is no node
!llvm.module.flags = !{!0}
!0 = !{i32 5, !"b", i32 1}
;;; constant expression: a product of one operand
@g = global i32 mul (i32 1)
;;; constant expression: a xor of three operands
@g = global i32 xor (i32 1, i32 2, i32 3)
;;; musttail: of another convention
define fastcc void @g(i32 %x) { ret void }
define void @f(i32 %x) {
  musttail call fastcc void @g(i32 %x)
  ret void
}
;;; musttail: argument passed otherwise
declare void @g(ptr byval(i32) %x)
define void @f(ptr %x) {
  musttail call void @g(ptr byval(i32) %x)
  ret void
}
;;; alias: of a weak alias
@g = global i32 0
@a = weak alias i32, ptr @g
@b = alias i32, ptr @a
;;; spir_kernel: sret
define spir_kernel void @f(ptr sret(i32) %x) {
 ret void
}
;;; spir_kernel: a result
define spir_kernel i32 @f() {
 ret i32 0
}
;;; jumptable: address that matters
define void @f() jumptable {
 ret void
}
;;; jumptable: in a group
define void @f() #0 {
 ret void
}
attributes #0 = { jumptable }
;;; jumptable: local_unnamed_addr
define void @f() local_unnamed_addr jumptable {
 ret void
}
;;; allocsize: a pointer
declare ptr @m(ptr, i64) allocsize(0)
;;; allocsize: the second a pointer
declare ptr @m(i32, ptr) allocsize(0, 1)
;;; threadlocal.address: of another variable
@g = global i32 0
define ptr @f() {
  %x = call ptr @llvm.threadlocal.address.p0(ptr @g)
  ret ptr %x
}
declare ptr @llvm.threadlocal.address.p0(ptr)
;;; threadlocal.address: of an argument
define ptr @f(ptr %p) {
  %x = call ptr @llvm.threadlocal.address.p0(ptr %p)
  ret ptr %x
}
declare ptr @llvm.threadlocal.address.p0(ptr)
;;; uselistorder_bb: no such block
define void @f(i1 %c) {
b:
  br i1 %c, label %x, label %y
x:
  br label %z
y:
  br label %z
z:
  ret void
}
uselistorder_bb @f, %q, { 1, 0 }
;;; uselistorder_bb: of a declaration
declare void @f()
uselistorder_bb @f, %q, { 1, 0 }
;;; parameters: a number that was passed
define void @f(i32 %x, i32, i32 %0) {
  ret void
}
;;; variable: undefined metadata
@g = global i32 0, !foo !7
;;; declaration: memcpy without its literal
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64)
;;; declaration: lifetime of a number
declare void @llvm.lifetime.start.p0(ptr, i64)
;;; name: NUL 0
@"a\00b" = global i32 0
;;; name: NUL 1
define void @f() {
"x\00":
  ret void
}
;;; name: NUL 2
%"t\00" = type { i32 }
@g = global %"t\00" zeroinitializer
;;; name: NUL 3
$"c\00" = comdat any
;;; name: NUL 4
define void @f(i32 %"a\00") {
  ret void
}
;;; name: NUL 5
define void @"f\00g"() {
  ret void
}
;;; fcmp: flag of integers
define i1 @f(float %x) {
  %r = fcmp nsw oeq float %x, %x
  ret i1 %r
}
;;; icmp: flag of floats
define i1 @f(i32 %x) {
  %r = icmp fast eq i32 %x, %x
  ret i1 %r
}
;;; assembly: a label
define void @f() {
  call void asm "x", "!i"()
  ret void
}
;;; dbg.value: no metadata
define void @f(i32 %a) {
  call void @llvm.dbg.value(i32 %a, i32 0, i32 0)
  ret void
}
;;; dbg.value: undefined metadata
define void @f(i32 %a) {
  call void @llvm.dbg.value(metadata i32 %a, metadata !7, metadata !DIExpression())
  ret void
}
;;; record: undefined metadata
define void @f(i32 %a) {
  #dbg_value(i32 %a, !0, !DIExpression(), !2)
  ret void
}
;;; number: inf without a sign
define float @f(float %a) {
  %r = fadd float %a, inf
  ret float %r
}
;;; function: two conventions
define ptx_kernel ptx_device void @f() {
  ret void
}
;;; variable: attachment without a node
@g = unnamed_addr constant i32 0, !dbg
;;; type: function that returns a function
%t = type void (i32) (i32)
;;; node: DIArgList
!0 = !DIArgList(i32 1)
;;; summary: nothing behind
^0 = module
;;; summary: no such entry
^0 = foo: (x: 1)
;;; uselistorder_bb: nothing before
uselistorder_bb @f, %x, {1, 0}
;;; alias nodes: 2
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 5
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 8}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 7
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !6, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 8
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0, i64 2}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 9
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0, i64 0, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 10
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i32 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 11
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 12
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 15
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, null, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 16
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{null, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 17
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!9, !9, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 19
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, !8}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 21
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 2}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 22
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!"x"}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 23
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 24
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0, !8}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 25
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, i64 0, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 26
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 400}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 27
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 4, !7, i64 0}
;;; alias nodes: 28
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7}
;;; alias nodes: 30
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, !7}
;;; alias nodes: 31
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", i64 0, i64 0}
;;; alias nodes: 33
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S"}
;;; alias nodes: 34
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", null, i64 0}
;;; alias nodes: 36
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!8, i64 0, !"S", !7, i64 0}
;;; alias nodes: 37
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{}
;;; alias nodes: 38
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 1}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 40
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", null, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 42
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!9, !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 43
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", i64 0, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 44
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !8, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 45
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, !9}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes: 49
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 0, i64 4, !7, i64 4, i64 4}
;;; alias nodes: 50
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0, i64 4, i64 1, i64 1}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 0, i64 4, !7, i64 4, i64 4}
;;; alias nodes: 51
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !8, i64 0, i64 1}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 0, i64 4, !7, i64 4, i64 4}
;;; alias nodes: 52
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !6, i64 0, i64 4}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 0, i64 4, !7, i64 4, i64 4}
;;; alias nodes: 54
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0, i64 4}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 0}
;;; alias nodes: 55
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0, i64 4}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 4, i64 4, !7, i64 0, i64 4}
;;; alias nodes: 61
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!"x"}
;;; alias nodes: 62
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{i32 1}
;;; alias nodes: 63
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1}
;;; alias nodes: 64
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2, !3}
!2 = distinct !{!2}
!3 = !{}
;;; alias nodes: 65
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!2, !2}
!2 = distinct !{!2}
;;; alias nodes: 66
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !"d"}
;;; alias nodes: 67
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2, !2}
;;; alias nodes: 68
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !{}
;;; alias nodes: 69
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !{i32 0}
;;; alias nodes: 70
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = distinct !{!0, !2}
!2 = distinct !{!2}
;;; alias nodes: 71
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2, !"a", !"b"}
!2 = distinct !{!2}
;;; alias nodes: 72
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1, null}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
;;; alias nodes: 78
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!"x"}
;;; alias nodes: 79
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{i32 1}
;;; alias nodes: 80
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1}
;;; alias nodes: 81
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2, !3}
!2 = distinct !{!2}
!3 = !{}
;;; alias nodes: 82
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!2, !2}
!2 = distinct !{!2}
;;; alias nodes: 83
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !"d"}
;;; alias nodes: 84
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2, !2}
;;; alias nodes: 85
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !{}
;;; alias nodes: 86
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !{i32 0}
;;; alias nodes: 87
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = distinct !{!0, !2}
!2 = distinct !{!2}
;;; alias nodes: 88
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2, !"a", !"b"}
!2 = distinct !{!2}
;;; alias nodes: 89
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1, null}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
;;; uselistorder: a number without uses
uselistorder i32 0, { 1, 0 }
;;; uselistorder: a number of one use
define i32 @f(i32 %a) {
  %x = add i32 %a, 7
  ret i32 %x
}
uselistorder i32 7, { 1, 0 }
;;; uselistorder: a number of one use that is an index, too
define i32 @f(i32 %a) {
  %x = add i32 %a, 1
  ret i32 %x
}
uselistorder i32 1, { 1, 0 }
;;; uselistorder: a variable of one use
@a = global i32 0
@b = global ptr @a
uselistorder ptr @a, { 1, 0 }
;;; uselistorder: an instruction of one use
define i32 @f(i32 %a) {
  %x = add i32 %a, 7
  ret i32 %x
  uselistorder i32 %x, { 1, 0 }
}
;;; float literal: a decimal between two numbers
define float @f(float %x) {
  %r = fadd float %x, 0.1
  ret float %r
}
;;; half literal: a decimal between two numbers
@x = global half 0.1
;;; threadlocal.address: of another variable, behind a right call
@t = thread_local global i32 0
@g = global i32 0
declare ptr @llvm.threadlocal.address.p0(ptr)
define ptr @f() {
  %x = call ptr @llvm.threadlocal.address.p0(ptr @t)
  %y = call ptr @llvm.threadlocal.address.p0(ptr @g)
  ret ptr %y
}
;;; attribute: range whose bound is no number
declare i32 @f()
define i32 @g() {
  %r = call range(i32 phi, 5) i32 @f()
  ret i32 %r
}
;;; attribute: memory that ends in another bracket
define void @g() #2 {
  ret void
}
attributes #2 = { memory(none} }
;;; debug record: a part is missing
define void @f(i32 %a) {
    #dbg_value(i32 %a)
  ret void
}
;;; debug record: a part too many
define void @f(i32 %a) {
    #dbg_label(!0, !0, !0)
  ret void
}
!0 = !{}
