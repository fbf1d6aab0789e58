package embedded_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestUserInStatus checks that the status has the user that the program was started with. It stays after the program
// changes its user, after a restart of the runtime and after the exit.
func TestUserInStatus(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("users", nil)
	c := shell("main", "exec sleep 1000")
	c.Linux.SecurityContext = &cri.LinuxContainerSecurityContext{RunAsUser: &cri.Int64Value{Value: 1000}, SupplementalGroups: []int64{1234}}
	id, root := h.run(sb, sandboxConfig, c), h.run(sb, sandboxConfig, shell("root", "exec su user -c 'sleep 1000'"))
	check := func(when string) {
		t.Helper()
		u := h.status(id).GetUser().GetLinux()
		if u.GetUid() != 1000 || u.GetGid() != 1000 || !slices.Equal(u.GetSupplementalGroups(), []int64{1000, 1234}) {
			t.Errorf("%s: user %v, want 1000, group 1000, groups 1000 and 1234", when, u)
		}
		if u := h.status(root).GetUser().GetLinux(); u == nil || u.GetUid() != 0 || !slices.Equal(u.GetSupplementalGroups(), []int64{0}) {
			t.Errorf("%s: user %v of the container that runs su, want root and its group", when, u)
		}
	}
	check("running")
	if s := h.status(root); s.State != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container that runs su is %v, want it running", s)
	}
	h.Restart(t)
	check("adopted")
	for _, container := range []string{id, root} {
		if err := h.Service.StopContainer(context.Background(), container, 0); err != nil {
			t.Fatal(err)
		}
	}
	check("exited")
	h.Restart(t)
	check("exited and adopted")
}

// TestInvalidConfigs checks that configurations that CRI does not allow are rejected, and that similar
// valid ones are accepted.
func TestInvalidConfigs(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("invalid", nil)
	mount := func(change func(*cri.Mount)) func(*cri.ContainerConfig) {
		m := &cri.Mount{HostPath: h.Dir, ContainerPath: "/v", Readonly: true, RecursiveReadOnly: true}
		change(m)
		return func(c *cri.ContainerConfig) { c.Mounts = []*cri.Mount{m} }
	}
	for name, tc := range map[string]struct {
		change func(*cri.ContainerConfig)
		want   string // "" if it is valid
	}{
		"group without user": {func(c *cri.ContainerConfig) { c.Linux.SecurityContext.RunAsGroup = &cri.Int64Value{Value: 5} }, "run_as_group: requires run_as_user"},
		"group with user name": {func(c *cri.ContainerConfig) {
			c.Linux.SecurityContext.RunAsGroup, c.Linux.SecurityContext.RunAsUsername = &cri.Int64Value{Value: 5}, "user"
		}, ""},
		"recursive read-only":   {mount(func(*cri.Mount) {}), ""},
		"recursive, writable":   {mount(func(m *cri.Mount) { m.Readonly = false }), "mount /v: recursive_read_only"},
		"recursive, propagated": {mount(func(m *cri.Mount) { m.Propagation = cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER }), "mount /v: recursive_read_only"},
	} {
		c := config("c")
		tc.change(c)
		_, err := h.Service.CreateContainer(context.Background(), sb, c, sandboxConfig)
		if tc.want == "" && err != nil || tc.want != "" && (status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
