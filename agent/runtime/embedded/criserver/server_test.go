package criserver_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/internal/testkit/container"
)

// harness is an embedded runtime that is served through CRI.
type harness struct {
	*container.Embedded
	cri.RuntimeServiceClient
	images cri.ImageServiceClient
	socket string
}

// serve serves an embedded runtime with a network until the end of the test.
func serve(t *testing.T) *harness {
	t.Helper()
	r := &harness{Embedded: container.StartEmbedded(t, true, nil)}
	r.LoadWorkload(t)
	r.socket = filepath.Join(r.Dir, "cri.sock")
	ctx, cancel := context.WithCancel(context.Background())
	serveErr := make(chan error, 1)
	go func() { serveErr <- criserver.New(r.Runtime).Serve(ctx, r.socket) }()
	conn, err := grpc.NewClient("unix://"+r.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-serveErr; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if _, err := os.Lstat(r.socket); !os.IsNotExist(err) {
			t.Errorf("socket after Serve: %v, want it not to exist", err)
		}
		conn.Close()
	})
	r.RuntimeServiceClient, r.images = cri.NewRuntimeServiceClient(conn), cri.NewImageServiceClient(conn)
	if _, err := r.Version(t.Context(), &cri.VersionRequest{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSocket checks that only root can connect, because the socket gives access to the node. Serve rejects a socket in
// use and an invalid path.
func TestSocket(t *testing.T) {
	r := serve(t)
	info, err := os.Stat(r.socket)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("socket %v, %v, want mode 0600", info.Mode(), err)
	}
	other := criserver.New(r.Runtime)
	if err := other.Serve(t.Context(), r.socket); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("second server: %v, want in use by another process", err)
	}
	file := filepath.Join(r.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "not a socket", "relative.sock": "must be an absolute path", "/tmp/" + strings.Repeat("x", 110): "at most 107 bytes"} {
		if err := criserver.New(r.Runtime).Serve(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("socket %s: %v, want an error with %q", path, err, want)
		}
	}
}

// TestStatus checks the status and configuration of the runtime, and that the pod network cannot be changed.
func TestStatus(t *testing.T) {
	r, ctx := serve(t), t.Context()
	s, err := r.Status(ctx, &cri.StatusRequest{})
	if err != nil || len(s.GetStatus().GetConditions()) != 2 || !s.GetFeatures().GetSupplementalGroupsPolicy() {
		t.Errorf("status %v, %v, want two conditions and supplemental groups policy", s, err)
	}
	handlers := s.GetRuntimeHandlers()
	if len(handlers) != 1 || handlers[0].GetName() != "" || !handlers[0].GetFeatures().GetRecursiveReadOnlyMounts() || handlers[0].GetFeatures().GetUserNamespaces() {
		t.Errorf("handlers %v, want the default handler with recursive read-only mounts only", handlers)
	}
	if c, err := r.RuntimeConfig(ctx, &cri.RuntimeConfigRequest{}); err != nil || c.GetLinux().GetCgroupDriver() != cri.CgroupDriver_CGROUPFS {
		t.Errorf("configuration %v, %v, want driver cgroupfs", c, err)
	}
	for cidr, want := range map[string]codes.Code{r.CIDR: codes.OK, "": codes.OK, "10.1.0.0/24": codes.InvalidArgument} {
		config := &cri.RuntimeConfig{NetworkConfig: &cri.NetworkConfig{PodCidr: cidr}}
		if _, err := r.UpdateRuntimeConfig(ctx, &cri.UpdateRuntimeConfigRequest{RuntimeConfig: config}); status.Code(err) != want {
			t.Errorf("network %q: %v, want %v", cidr, err, want)
		}
	}
}

// TestInvalidRequests checks that unsupported or incomplete requests fail with an error that names the
// call or field.
func TestInvalidRequests(t *testing.T) {
	r, ctx := serve(t), t.Context()
	sandbox, id := r.Run(t, container.Pod{Name: "unsupported", Args: []string{"-listen=:80"}})
	for want, call := range map[string]func() error{
		"does not support CheckpointContainer": func() error {
			_, err := r.CheckpointContainer(ctx, &cri.CheckpointContainerRequest{ContainerId: id})
			return err
		},
		"does not support resources.cpuset_cpus": func() error {
			_, err := r.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{ContainerId: id, Linux: &cri.LinuxContainerResources{CpusetCpus: "0"}})
			return err
		},
		"does not support securityContext.privileged": func() error {
			security := &cri.LinuxContainerSecurityContext{Privileged: true}
			_, err := r.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: sandbox, Config: &cri.ContainerConfig{
				Metadata: &cri.ContainerMetadata{Name: "c"}, Image: &cri.ImageSpec{Image: container.WorkloadName}, Linux: &cri.LinuxContainerConfig{SecurityContext: security}}})
			return err
		},
		"config.metadata: required": func() error {
			_, err := r.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{})
			return err
		},
		"cmd: required": func() error {
			_, err := r.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: id})
			return err
		},
		"image: required": func() error {
			_, err := r.images.PullImage(ctx, &cri.PullImageRequest{})
			return err
		},
	} {
		err := call()
		if code := status.Code(err); code != codes.Unimplemented && code != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestShortIDs(t *testing.T) {
	r, ctx := serve(t), t.Context()
	sandbox, id := r.Run(t, container.Pod{Name: "short", Args: []string{"-listen=:80"}})
	if s, err := r.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id[:13]}); err != nil || s.GetStatus().GetId() != id {
		t.Errorf("container %v, %v, want %s", s, err, id)
	}
	s, err := r.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox[:13]})
	if err != nil || s.GetStatus().GetId() != sandbox || len(s.GetContainersStatuses()) != 1 || s.GetContainersStatuses()[0].GetId() != id {
		t.Errorf("sandbox %v, %v, want %s with its container", s, err, sandbox)
	}
	if _, err := r.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("unknown container: %v, want NotFound", err)
	}
}

func TestUpdateContainerResources(t *testing.T) {
	r, ctx := serve(t), t.Context()
	_, id := r.Run(t, container.Pod{Name: "limits", Args: []string{"-listen=:80"}, Memory: 64 << 20})
	update := &cri.LinuxContainerResources{MemoryLimitInBytes: 96 << 20, CpuShares: 512, CpuQuota: 20_000, CpuPeriod: 50_000}
	if _, err := r.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{ContainerId: id, Linux: update}); err != nil {
		t.Fatal(err)
	}
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	group := filepath.Join(r.Cgroup, "podlimits", id)
	want := map[string]map[string]string{"memory": {"memory.limit_in_bytes": "100663296"}, "cpu": {"cpu.shares": "512", "cpu.cfs_quota_us": "40000", "cpu.cfs_period_us": "100000"}}
	if host.Mode == cgroup.V2 {
		want = map[string]map[string]string{"memory": {"memory.max": "100663296"}, "cpu": {"cpu.weight": "20", "cpu.max": "40000 100000"}}
	}
	for controller, files := range want {
		for file, value := range files {
			got, err := os.ReadFile(filepath.Join(host.Dir(controller, group), file))
			if err != nil || strings.TrimSpace(string(got)) != value {
				t.Errorf("%s: %q, %v, want %s", file, got, err, value)
			}
		}
	}
	if err := r.Service.StopContainer(ctx, id, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := r.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{ContainerId: id, Linux: update}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("update of an exited container: %v, want FailedPrecondition", err)
	}
}

func TestStats(t *testing.T) {
	r, ctx := serve(t), t.Context()
	sandbox, id := r.Run(t, container.Pod{Name: "stats", Args: []string{"-listen=:80"}})
	single, err := r.ContainerStats(ctx, &cri.ContainerStatsRequest{ContainerId: id})
	if err != nil || single.GetStats().GetMemory().GetUsageBytes().GetValue() == 0 {
		t.Errorf("container %v, %v, want its memory", single, err)
	}
	pod, err := r.PodSandboxStats(ctx, &cri.PodSandboxStatsRequest{PodSandboxId: sandbox})
	linux := pod.GetStats().GetLinux()
	if err != nil || linux.GetMemory().GetUsageBytes().GetValue() == 0 || linux.GetProcess().GetProcessCount().GetValue() == 0 || len(linux.GetContainers()) != 1 {
		t.Errorf("sandbox %v, %v, want memory, processes and its container", pod, err)
	}
	if linux.GetNetwork().GetDefaultInterface().GetName() != "eth0" {
		t.Errorf("network %v, want eth0", linux.GetNetwork())
	}
	described := map[string]int{}
	descriptors, err := r.ListMetricDescriptors(ctx, &cri.ListMetricDescriptorsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors.GetDescriptors() {
		described[d.GetName()] = len(d.GetLabelKeys())
	}
	metrics, err := r.ListPodSandboxMetrics(ctx, &cri.ListPodSandboxMetricsRequest{})
	if err != nil || len(metrics.GetPodMetrics()) != 1 || len(metrics.GetPodMetrics()[0].GetContainerMetrics()) != 1 {
		t.Fatalf("metrics %v, %v, want those of one sandbox and one container", metrics, err)
	}
	list := append(metrics.GetPodMetrics()[0].GetMetrics(), metrics.GetPodMetrics()[0].GetContainerMetrics()[0].GetMetrics()...)
	if len(list) < len(described) {
		t.Errorf("%d metrics, want at least one for each of %d descriptors", len(list), len(described))
	}
	for _, m := range list {
		if described[m.GetName()] != len(m.GetLabelValues()) {
			t.Errorf("metric %s has %d labels, want %d as in its descriptor", m.GetName(), len(m.GetLabelValues()), described[m.GetName()])
		}
	}
	if err := r.Service.StopPodSandbox(ctx, sandbox); err != nil {
		t.Fatal(err)
	}
	if single, err = r.ContainerStats(ctx, &cri.ContainerStatsRequest{ContainerId: id}); err != nil || single.GetStats().GetAttributes().GetId() != id {
		t.Errorf("exited container %v, %v, want its attributes", single, err)
	}
	if _, err := r.PodSandboxStats(ctx, &cri.PodSandboxStatsRequest{PodSandboxId: sandbox}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("stopped sandbox: %v, want FailedPrecondition", err)
	}
}

func TestContainerEvents(t *testing.T) {
	r := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := r.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil { // subscribed
		t.Fatal(err)
	}
	logs := t.TempDir()
	config := &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: "events", Uid: "events", Namespace: "default"}, LogDirectory: logs, Linux: &cri.LinuxPodSandboxConfig{CgroupParent: r.Cgroup + "/podevents"}}
	s, err := r.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: s.GetPodSandboxId(), SandboxConfig: config, Config: &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: "main"}, Image: &cri.ImageSpec{Image: container.WorkloadName}, Args: []string{"-listen=:80"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: c.GetContainerId()})
	if err == nil {
		_, err = r.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: c.GetContainerId()})
	}
	if err != nil {
		t.Fatal(err)
	}
	const sandbox, main = "sandbox", "main"
	names := map[string]string{s.GetPodSandboxId(): sandbox, c.GetContainerId(): main}
	expect := func(name string, kind cri.ContainerEventType) *cri.ContainerEventResponse {
		t.Helper()
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if names[e.GetContainerId()] != name || e.GetContainerEventType() != kind || e.GetPodSandboxStatus().GetId() != s.GetPodSandboxId() {
			t.Errorf("event %v of %s, want %v of %s", e, names[e.GetContainerId()], kind, name)
		}
		return e
	}
	expect(sandbox, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	expect(sandbox, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	expect(main, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	expect(main, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	exit := expect(main, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	if statuses := exit.GetContainersStatuses(); len(statuses) != 1 || statuses[0].GetState() != cri.ContainerState_CONTAINER_EXITED {
		t.Errorf("statuses at the exit: %v, want the exited container", statuses)
	}
	if _, err := r.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: c.GetContainerId()}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: s.GetPodSandboxId()}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: s.GetPodSandboxId()}); err != nil {
		t.Fatal(err)
	}
	expect(main, cri.ContainerEventType_CONTAINER_DELETED_EVENT)
	expect(sandbox, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	expect(sandbox, cri.ContainerEventType_CONTAINER_DELETED_EVENT)
}
