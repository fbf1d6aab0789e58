package pause

import (
	"bytes"
	"debug/elf"
	"testing"
)

// TestExecutables checks that the ELF file of each architecture is valid. It does not run the code;
// the arm64 code was tested with qemu.
func TestExecutables(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		code, got := machineCode(arch)
		f, err := elf.NewFile(bytes.NewReader(buildELF(code, got)))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine || f.Type != elf.ET_EXEC || len(f.Progs) != 1 || f.Entry != f.Progs[0].Vaddr+f.Progs[0].Filesz-uint64(len(code)) {
			t.Errorf("%s: %+v %+v, want machine %v and the entry point at the code", arch, f.FileHeader, f.Progs[0].ProgHeader, machine)
		}
	}
	if code, _ := machineCode("riscv64"); code != nil {
		t.Errorf("machineCode(riscv64) returned %d bytes, want none: this test does not cover riscv64", len(code))
	}
}
