package pause

import (
	"bytes"
	"debug/elf"
	"testing"
)

// The ELF file of each architecture is valid. The arm64 code was tested with qemu.
func TestExecutables(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		code, got := machineCode(arch)
		f, err := elf.NewFile(bytes.NewReader(buildELF(code, got)))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine || f.Type != elf.ET_EXEC || len(f.Progs) != 1 || f.Entry != f.Progs[0].Vaddr+f.Progs[0].Filesz-uint64(len(code)) {
			t.Errorf("%s: %+v %+v, want code for it to begin where the program does", arch, f.FileHeader, f.Progs[0].ProgHeader)
		}
	}
	if code, _ := machineCode("riscv64"); code != nil {
		t.Error("no test covers the code for riscv64")
	}
}
