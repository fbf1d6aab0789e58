package embedded

import (
	"encoding/binary"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestStopSignals(t *testing.T) {
	for name, want := range map[string]syscall.Signal{"": syscall.SIGTERM, "SIGQUIT": syscall.SIGQUIT, "quit": syscall.SIGQUIT, "3": syscall.SIGQUIT,
		"SIGNAL_SIGUSR1": syscall.SIGUSR1, "SIGRTMIN+3": 37, "SIGNAL_SIGRTMINPLUS3": 37, "SIGRTMAX-1": 63, "SIGRTMIN": 34, "nonsense": syscall.SIGTERM, "99": syscall.SIGTERM} {
		if got := stopSignal(name); got != want {
			t.Errorf("%q: signal %d, want %d", name, got, want)
		}
	}
}

func TestCapabilities(t *testing.T) {
	for want, c := range map[uint64]*cri.Capability{
		0xa80425fb:             nil,
		0:                      {DropCapabilities: []string{"ALL"}},
		1 << 10:                {DropCapabilities: []string{"all"}, AddCapabilities: []string{"NET_BIND_SERVICE"}},
		0xa80425fb | 1<<12:     {AddCapabilities: []string{"CAP_NET_ADMIN"}},
		1<<41 - 1:              {AddCapabilities: []string{"ALL"}},
		(1<<41 - 1) &^ 1:       {AddCapabilities: []string{"ALL"}, DropCapabilities: []string{"CHOWN"}},
		0xa80425fb &^ (1 << 5): {DropCapabilities: []string{"kill"}},
		0xa80425fb &^ (1 << 6): {DropCapabilities: []string{"SETGID"}, AddCapabilities: []string{"SETGID"}},
	} {
		if got, err := capabilities(c); err != nil || got != want {
			t.Errorf("%v: %x, %v, want %x", c, got, err, want)
		}
	}
	if _, err := capabilities(&cri.Capability{AddCapabilities: []string{"FLY"}}); err == nil || !strings.Contains(err.Error(), `"FLY"`) {
		t.Errorf("unknown capability: %v, want an error with FLY", err)
	}
}

// runFilter interprets a seccomp filter as the kernel does.
func runFilter(t *testing.T, p []byte, arch, call, flags uint32) uint32 {
	t.Helper()
	var a uint32
	for i := 0; ; i++ {
		code, k := binary.NativeEndian.Uint16(p[i*8:]), binary.NativeEndian.Uint32(p[i*8+4:])
		jt, jf := int(p[i*8+2]), int(p[i*8+3])
		match := false
		switch code {
		case opLoad:
			a = map[uint32]uint32{offsetNumber: call, offsetArch: arch, offsetFirstArgument: flags}[k]
			continue
		case opReturn:
			return k
		case opJumpEqual:
			match = a == k
		case opJumpGreaterEqual:
			match = a >= k
		case opJumpBits:
			match = a&k != 0
		default:
			t.Fatalf("instruction %d has code %x", i, code)
		}
		if match {
			i += jt
		} else {
			i += jf
		}
	}
}

func TestSeccompFilter(t *testing.T) {
	defaults, err := capabilities(nil)
	if err != nil {
		t.Fatal(err)
	}
	admin := defaults | 1<<21
	for _, tc := range []struct {
		name         string
		capabilities uint64
		arch         uint32
		call, flags  uint32
		want         uint32
	}{
		{"read", defaults, auditArch, unix.SYS_READ, 0, unix.SECCOMP_RET_ALLOW},
		{"mount", defaults, auditArch, unix.SYS_MOUNT, 0, retEPERM},
		{"mount of an admin", admin, auditArch, unix.SYS_MOUNT, 0, unix.SECCOMP_RET_ALLOW},
		{"keyctl of an admin", admin, auditArch, unix.SYS_KEYCTL, 0, retEPERM},
		{"fork", defaults, auditArch, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_VFORK, unix.SECCOMP_RET_ALLOW},
		{"a user namespace", defaults, auditArch, unix.SYS_CLONE, unix.CLONE_NEWUSER, retEPERM},
		{"a user namespace of an admin", admin, auditArch, unix.SYS_CLONE, unix.CLONE_NEWUSER, unix.SECCOMP_RET_ALLOW},
		{"a socket", defaults, auditArch, unix.SYS_SOCKET, unix.AF_INET, unix.SECCOMP_RET_ALLOW},
		{"a virtual machine's socket", defaults, auditArch, unix.SYS_SOCKET, unix.AF_VSOCK, retEPERM},
		{"a virtual machine's socket of an admin", admin, auditArch, unix.SYS_SOCKET, unix.AF_VSOCK, retEPERM},
		{"a call with the number of vsock", defaults, auditArch, unix.AF_VSOCK, unix.AF_VSOCK, unix.SECCOMP_RET_ALLOW},
		{"clone3", defaults, auditArch, unix.SYS_CLONE3, 0, retENOSYS},
		{"another architecture", defaults, auditArch + 1, unix.SYS_READ, 0, unix.SECCOMP_RET_KILL_PROCESS},
	} {
		if got := runFilter(t, seccompFilter(tc.capabilities), tc.arch, tc.call, tc.flags); got != tc.want {
			t.Errorf("%s: %x, want %x", tc.name, got, tc.want)
		}
	}
	if otherABI != 0 {
		if got := runFilter(t, seccompFilter(defaults), auditArch, otherABI+unix.SYS_READ, 0); got != retENOSYS {
			t.Errorf("a call of another ABI: %x, want %x", got, retENOSYS)
		}
	}
	if n := len(seccompFilter(0)) / 8; n > 4096 {
		t.Errorf("the filter has %d instructions, want at most 4096, the maximum of the kernel", n)
	}
}

func TestValidateReportsAllErrors(t *testing.T) {
	err := Options{Dir: "relative", PodCIDR: "10.0.0.1/24", Bridge: "a name that is too long"}.Validate()
	for _, want := range []string{`dir "relative"`, "images", `podCIDR "10.0.0.1/24"`, `bridge "a name that is too long"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: %v, want it to contain %s", err, want)
		}
	}
}
