package pause

import (
	"debug/elf"
	"encoding/binary"
)

// machineCode returns the machine code for an architecture, or nil.
//
// The program blocks signals and waits for them. The kernel drops signals with the default action
// that are sent to process 1, but keeps blocked ones.
func machineCode(arch string) ([]byte, elf.Machine) {
	switch arch {
	case "amd64":
		return codeAMD64, elf.EM_X86_64
	case "arm64":
		var code []byte
		for _, instruction := range codeARM64 {
			code = binary.LittleEndian.AppendUint32(code, instruction)
		}
		return code, elf.EM_AARCH64
	}
	return nil, elf.EM_NONE
}

// codeAMD64 is the program for amd64, one instruction per line with its offset.
var codeAMD64 = []byte{
	// rt_sigprocmask(SIG_BLOCK, set, nil, 8)
	0xb8, 0x0e, 0x00, 0x00, 0x00, // 00 mov eax, 14
	0x31, 0xff, // 05 xor edi, edi
	0x48, 0x8d, 0x35, 0x52, 0x00, 0x00, 0x00, // 07 lea rsi, [set]
	0x31, 0xd2, // 0e xor edx, edx
	0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // 10 mov r10d, 8
	0x0f, 0x05, // 16 syscall
	// wait: rt_sigtimedwait(set, nil, nil, 8)
	0xb8, 0x80, 0x00, 0x00, 0x00, // 18 mov eax, 128
	0x48, 0x8d, 0x3d, 0x3c, 0x00, 0x00, 0x00, // 1d lea rdi, [set]
	0x31, 0xf6, // 24 xor esi, esi
	0x31, 0xd2, // 26 xor edx, edx
	0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // 28 mov r10d, 8
	0x0f, 0x05, // 2e syscall
	0x83, 0xf8, 0x11, // 30 cmp eax, SIGCHLD
	0x75, 0x1c, // 33 jne other
	// reap: wait4(-1, nil, WNOHANG, nil) until there are no more
	0xb8, 0x3d, 0x00, 0x00, 0x00, // 35 mov eax, 61
	0xbf, 0xff, 0xff, 0xff, 0xff, // 3a mov edi, -1
	0x31, 0xf6, // 3f xor esi, esi
	0xba, 0x01, 0x00, 0x00, 0x00, // 41 mov edx, WNOHANG
	0x45, 0x31, 0xd2, // 46 xor r10d, r10d
	0x0f, 0x05, // 49 syscall
	0x85, 0xc0, // 4b test eax, eax
	0x7f, 0xe6, // 4d jg reap
	0xeb, 0xc7, // 4f jmp wait
	// other: continue after an interruption; exit on SIGTERM and SIGINT
	0x85, 0xc0, // 51 test eax, eax
	0x78, 0xc3, // 53 js wait
	0xb8, 0xe7, 0x00, 0x00, 0x00, // 55 mov eax, 231 (exit_group)
	0x31, 0xff, // 5a xor edi, edi
	0x0f, 0x05, // 5c syscall
	0x90, 0x90, // 5e nop
	// set: SIGINT, SIGTERM, SIGCHLD
	0x02, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, // 60
}

// codeARM64 is the same program for arm64.
var codeARM64 = []uint32{
	// rt_sigprocmask(SIG_BLOCK, set, nil, 8)
	0xd28010e8, // 00 mov x8, 135
	0xaa1f03e0, // 04 mov x0, 0
	0x10000341, // 08 adr x1, set
	0xaa1f03e2, // 0c mov x2, 0
	0xb27d03e3, // 10 mov x3, 8
	0xd4000001, // 14 svc 0
	// wait: rt_sigtimedwait(set, nil, nil, 8)
	0xd2801128, // 18 mov x8, 137
	0x100002a0, // 1c adr x0, set
	0xaa1f03e1, // 20 mov x1, 0
	0xaa1f03e2, // 24 mov x2, 0
	0xb27d03e3, // 28 mov x3, 8
	0xd4000001, // 2c svc 0
	0x7100441f, // 30 cmp w0, SIGCHLD
	0x54000141, // 34 b.ne other
	// reap: wait4(-1, nil, WNOHANG, nil) until there are no more
	0xd2802088, // 38 mov x8, 260
	0x92800000, // 3c mov x0, -1
	0xaa1f03e1, // 40 mov x1, 0
	0xb24003e2, // 44 mov x2, WNOHANG
	0xaa1f03e3, // 48 mov x3, 0
	0xd4000001, // 4c svc 0
	0x7100001f, // 50 cmp w0, 0
	0x54ffff2c, // 54 b.gt reap
	0x17fffff0, // 58 b wait
	// other: continue after an interruption; exit on SIGTERM and SIGINT
	0x7100001f, // 5c cmp w0, 0
	0x54fffdcb, // 60 b.lt wait
	0xd2800bc8, // 64 mov x8, 94 (exit_group)
	0xaa1f03e0, // 68 mov x0, 0
	0xd4000001, // 6c svc 0
	// set: SIGINT, SIGTERM, SIGCHLD
	0x00014002, // 70
	0x00000000, // 74
}
