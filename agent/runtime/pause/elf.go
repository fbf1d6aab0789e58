package pause

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
)

// loadAddress is the usual load address of a static program.
const loadAddress = 0x400000

// Program returns the executable for this machine's architecture.
func Program() ([]byte, error) {
	code, machine := machineCode(runtime.GOARCH)
	if code == nil {
		return nil, fmt.Errorf("pause program: unsupported architecture %s: configure a sandbox image instead", runtime.GOARCH)
	}
	return buildELF(code, machine), nil
}

// buildELF returns an ELF file with one segment that holds the headers and the code.
func buildELF(code []byte, machine elf.Machine) []byte {
	const fileHeader, segmentHeader = 64, 56
	const start = fileHeader + segmentHeader
	size := uint64(start + len(code))
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Entry: loadAddress + start, Phoff: fileHeader, Ehsize: fileHeader, Phentsize: segmentHeader, Phnum: 1,
	}
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Vaddr: loadAddress, Paddr: loadAddress, Filesz: size, Memsz: size, Align: 0x1000}
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, header) // never fails for a buffer
	_ = binary.Write(&b, binary.LittleEndian, segment)
	b.Write(code)
	return b.Bytes()
}
