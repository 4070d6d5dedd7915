define void @f() !dbg !9 {
  ret void, !dbg !13
}
!llvm.module.flags=!{}
!x=!{!5}
!2=!DIFile(filename:"a",directory:"")
!3=!{}
!5=distinct !DICompileUnit(language:DW_LANG_C_plus_plus,file:!2,producer:"",isOptimized:true,runtimeVersion:0,emissionKind:LineTablesOnly)
!4=!DISubroutineType(types:!3)
!9=distinct !DISubprogram(name:"f",scope:!2,file:!2,line:23,type:!4,isLocal:false,isDefinition:true,unit:!5)
!13 = !DILocation(line:3,scope:!9)
