package embedded_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestUnsupportedFields checks that unsupported fields are rejected by name.
func TestUnsupportedFields(t *testing.T) {
	h := newHarness(t, false)
	ctx := context.Background()
	for want, change := range map[string]func(*cri.PodSandboxConfig) string{
		"spec.runtimeClassName": func(*cri.PodSandboxConfig) string { return "gvisor" },
		"spec.hostPID": func(c *cri.PodSandboxConfig) string {
			c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_NODE
			return ""
		},
		"spec.hostUsers": func(c *cri.PodSandboxConfig) string {
			c.Linux.SecurityContext.NamespaceOptions.UsernsOptions = &cri.UserNamespace{Mode: cri.NamespaceMode_POD}
			return ""
		},
		"securityContext.sysctls net.ipv4.ip_forward": func(c *cri.PodSandboxConfig) string {
			c.Linux.Sysctls = map[string]string{"net.ipv4.ip_forward": "0"}
			return ""
		},
		"spec.hostNetwork": func(c *cri.PodSandboxConfig) string { // the harness has no network
			c.Linux.SecurityContext.NamespaceOptions.Network = cri.NamespaceMode_POD
			return ""
		},
	} {
		c := &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: "unsupported"}, Linux: &cri.LinuxPodSandboxConfig{CgroupParent: h.Cgroup,
			SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER, Network: cri.NamespaceMode_NODE}}}}
		handler := change(c)
		if _, err := h.Service.RunPodSandbox(ctx, c, handler); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with that name", want, err)
		}
	}
	sb, sandboxConfig := h.createSandbox("unsupported-fields", nil)
	for want, change := range map[string]func(*cri.LinuxContainerSecurityContext){
		"securityContext.privileged": func(s *cri.LinuxContainerSecurityContext) { s.Privileged = true },
		"securityContext.appArmorProfile": func(s *cri.LinuxContainerSecurityContext) {
			s.Apparmor = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
		},
		"securityContext.seccompProfile": func(s *cri.LinuxContainerSecurityContext) {
			s.Seccomp = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: "x"}
		},
		"securityContext.capabilities": func(s *cri.LinuxContainerSecurityContext) {
			s.Capabilities = &cri.Capability{AddCapabilities: []string{"FLY"}}
		},
	} {
		c := config("unsupported")
		change(c.Linux.SecurityContext)
		if _, err := h.Service.CreateContainer(ctx, sb, c, sandboxConfig); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with that name", want, err)
		}
	}
	shared, sharedConfig := h.createSandbox("shared", func(c *cri.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_POD
	})
	c := config("unsupported")
	c.Linux.SecurityContext.Capabilities = &cri.Capability{AddCapabilities: []string{"SYS_PTRACE"}}
	if _, err := h.Service.CreateContainer(ctx, shared, c, sharedConfig); err == nil || !strings.Contains(err.Error(), "SYS_PTRACE with spec.shareProcessNamespace") {
		t.Errorf("SYS_PTRACE in a shared PID namespace: %v, want an error with the field", err)
	}
	c = config("unsupported")
	c.Devices = []*cri.Device{{HostPath: "/dev/null", ContainerPath: "/dev/disk", Permissions: "r"}}
	if _, err := h.Service.CreateContainer(ctx, sb, c, sandboxConfig); err == nil || !strings.Contains(err.Error(), "volumeDevices of a read-only volume") {
		t.Errorf("read-only device: %v, want an error with the field", err)
	}
	if list, err := h.Service.ListContainers(ctx, nil); err != nil || len(list) != 0 {
		t.Errorf("containers after the rejections: %v, %v, want none", list, err)
	}
}

// TestStartErrors checks the exit code and message of containers that cannot start.
func TestStartErrors(t *testing.T) {
	h := newHarness(t, false)
	ctx := context.Background()
	sb, sandboxConfig := h.createSandbox("start-errors", nil)
	dynamic, script := filepath.Join(h.Dir, "dynamic"), filepath.Join(h.Dir, "script")
	for file, text := range map[string][]byte{dynamic: dynamicProgram(t, "/lib/ld-none.so.1"), script: []byte("#! /bin/none -x\n")} {
		if err := os.WriteFile(file, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		change func(*cri.ContainerConfig)
		want   string
	}{
		"no such command": {func(c *cri.ContainerConfig) { c.Command = []string{"missing"} }, `exec: "missing": executable file not found in $PATH`},
		"no such path":    {func(c *cri.ContainerConfig) { c.Command = []string{"/missing/program"} }, `exec: "/missing/program": stat /missing/program: no such file or directory`},
		"not executable":  {func(c *cri.ContainerConfig) { c.Command = []string{"/etc/passwd"} }, "permission denied"},
		"a directory":     {func(c *cri.ContainerConfig) { c.Command = []string{"/etc"} }, "permission denied"},
		"no such user":    {func(c *cri.ContainerConfig) { c.Linux.SecurityContext.RunAsUsername = "missing" }, "unable to find user missing"},
		"cwd is a file":   {func(c *cri.ContainerConfig) { c.WorkingDir = "/etc/passwd" }, "working directory /etc/passwd"},
		"no interpreter": {func(c *cri.ContainerConfig) {
			c.Mounts = []*cri.Mount{{HostPath: dynamic, ContainerPath: "/bin/dynamic"}}
			c.Command = []string{"dynamic"}
		}, `exec: "/bin/dynamic": interpreter /lib/ld-none.so.1 not found in the image`},
		"no shell": {func(c *cri.ContainerConfig) {
			c.Mounts = []*cri.Mount{{HostPath: script, ContainerPath: "/script"}}
			c.Command = []string{"/script"}
		}, `exec: "/script": interpreter /bin/none not found in the image`},
		"no such volume": {func(c *cri.ContainerConfig) {
			c.Mounts = []*cri.Mount{{HostPath: "/etc/passwd/volume", ContainerPath: "/v"}}
		}, "/etc/passwd/volume"},
		"a volume over /proc": {func(c *cri.ContainerConfig) {
			c.Mounts = []*cri.Mount{{HostPath: h.Dir, ContainerPath: "/proc"}}
		}, "inside of /proc"},
	} {
		c := config("c")
		tc.change(c)
		id := h.create(sb, sandboxConfig, c)
		if err := h.Service.StartContainer(ctx, id); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if s := h.status(id); s.State != cri.ContainerState_CONTAINER_EXITED || s.ExitCode != 128 || s.Reason != "StartError" || !strings.Contains(s.Message, tc.want) {
			t.Errorf("%s: %v %d %s %q, want it exited with 128, StartError and a message with %q", name, s.State, s.ExitCode, s.Reason, s.Message, tc.want)
		}
	}
	id := h.run(sb, sandboxConfig, shell("running", "exec sleep 1000"))
	if got := h.exec(id, "missing"); !strings.Contains(got, `exec: "missing": executable file not found in $PATH`) {
		t.Errorf("exec of a missing command: %q, want executable file not found", got)
	}
	if err := h.Service.StartContainer(ctx, id); err == nil {
		t.Error("StartContainer of a running container succeeded, want an error")
	}
}

// TestInvalidUsers checks that no number, passwd entry or group entry resolves to the highest ID,
// with which setuid would keep root.
func TestInvalidUsers(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("users", nil)
	const invalidID = "4294967295"
	var mounts []*cri.Mount
	for name, text := range map[string]string{"passwd": "baduid:x:" + invalidID + ":5:::/\nbadgid:x:1000:" + invalidID + ":::/\nann:x:1000:5::/home:/\n", "group": "badgroup:x:" + invalidID + ":ann\nmaxgid:x:2147483647:ann\n"} {
		file := filepath.Join(h.Dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, &cri.Mount{HostPath: file, ContainerPath: "/etc/" + name})
	}
	for user, want := range map[string]string{invalidID: "unable to find user " + invalidID, "2147483648": "unable to find user", "baduid": "unable to find user baduid",
		"badgid": "unable to find user badgid", "1000:" + invalidID: "unable to find group " + invalidID, "1000:badgroup": "unable to find group badgroup"} {
		c := config("c")
		c.Mounts, c.Linux.SecurityContext.RunAsUsername = mounts, user
		id := h.create(sb, sandboxConfig, c)
		if err := h.Service.StartContainer(context.Background(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("user %s: %v, want %q", user, err, want)
		}
	}
	c := shell("ann", "id")
	c.Mounts, c.Linux.SecurityContext.RunAsUsername = mounts, "ann"
	if out, _ := h.outputAndCode(sb, sandboxConfig, c); !strings.Contains(out, "uid=1000") || !strings.Contains(out, "2147483647") || strings.Contains(out, invalidID) {
		t.Errorf("id of ann: %q, want user 1000, and only maxgid of the two groups", out)
	}
}

// dynamicProgram returns an executable that only names a loader.
func dynamicProgram(t *testing.T, loader string) []byte {
	t.Helper()
	const header, entry = 64, 56
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	name := append([]byte(loader), 0)
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}, Type: uint16(elf.ET_EXEC),
			Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Phoff: header, Ehsize: header, Phentsize: entry, Phnum: 1},
		elf.Prog64{Type: uint32(elf.PT_INTERP), Off: header + entry, Filesz: uint64(len(name))}, name,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
