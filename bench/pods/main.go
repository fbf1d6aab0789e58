package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/store"
	criclient "github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
	_ "github.com/berthproject/berth/agent/testprogram" // the built-in image is this program
	"github.com/berthproject/berth/agent/virtualnode"
)

func main() {
	pods := flag.Int("pods", 100, "pods on the node")
	flag.Parse()
	klog.SetLogger(klog.Logger{})
	if err := run(*pods); err != nil {
		fmt.Fprintln(os.Stderr, "bench-pods:", err)
		os.Exit(1)
	}
}

// settleTime is the time in which shims release the memory that they used at start.
const settleTime = 10 * time.Second

// node is an embedded runtime with its pods, and the agent's connection to it.
type node struct {
	runtime    *embedded.Runtime
	service    *criclient.Client
	disconnect func()
	dir        string
	cgroup     string
	sandboxes  []string // IDs
	containers []string // IDs
}

func run(pods int) (err error) {
	ctx := context.Background()
	n := &node{cgroup: fmt.Sprintf("/berth-bench-%d", os.Getpid())}
	if n.dir, err = os.MkdirTemp("/var/tmp", "berth-bench-"); err != nil {
		return err
	}
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(ctx), host.Remove(ctx, n.cgroup), os.RemoveAll(n.dir)) }()
	if err := n.open(ctx); err != nil {
		return err
	}
	if err := host.Create(n.cgroup, cgroup.Limits{}); err != nil {
		return err
	}
	var starts, removals []time.Duration
	for i := range pods {
		start := time.Now()
		if err := n.start(ctx, i); err != nil {
			return fmt.Errorf("pod %d: %w", i, err)
		}
		starts = append(starts, time.Since(start))
	}
	if err := n.checkRunning(ctx); err != nil {
		return err
	}
	time.Sleep(settleTime)
	shims, peak, err := shimMemory()
	if err != nil {
		return err
	}
	execs, err := n.runCommands(ctx)
	if err != nil {
		return err
	}
	for _, id := range n.sandboxes {
		start := time.Now()
		if err := errors.Join(n.service.StopPodSandbox(ctx, id), n.service.RemovePodSandbox(ctx, id)); err != nil {
			return err
		}
		removals = append(removals, time.Since(start))
	}
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d pods; load %s", pods, load)
	printQuantiles("start of a pod, ms", starts, milliseconds)
	printQuantiles("exec of a command, ms", execs, milliseconds)
	printQuantiles("removal of a pod, ms", removals, milliseconds)
	mib := func(kib int64) float64 { return float64(kib) / 1024 }
	printQuantiles(fmt.Sprintf("VmRSS of %d shims, MiB", len(shims)), shims, mib)
	printQuantiles("VmHWM of the shims, MiB", peak, mib)
	return nil
}

// close disconnects from the runtime and removes it.
func (n *node) close(ctx context.Context) error {
	if n.disconnect != nil {
		n.disconnect()
	}
	if n.runtime == nil {
		return nil
	}
	return n.runtime.Destroy(ctx)
}

// open creates the runtime and connects to it.
func (n *node) open(ctx context.Context) error {
	images, err := store.Open(filepath.Join(n.dir, "images"), store.Options{})
	if err != nil {
		return err
	}
	if err := images.EnsureBuiltin(ctx); err != nil {
		return err
	}
	subnet, err := virtualnode.FreeSubnet(uint32(os.Getpid()))
	if err != nil {
		return err
	}
	n.runtime, err = embedded.New(ctx, embedded.Options{Dir: filepath.Join(n.dir, "runtime"), Images: images, PodCIDR: subnet,
		Bridge: fmt.Sprintf("bb%d", os.Getpid()), Log: klog.Background()})
	if err != nil {
		return err
	}
	n.service, n.disconnect = criserver.Connect(n.runtime)
	return nil
}

// checkRunning returns an error if a container has exited.
func (n *node) checkRunning(ctx context.Context) error {
	containers, err := n.service.ListContainers(ctx, nil)
	if err != nil {
		return err
	}
	for _, c := range containers {
		if c.State != cri.ContainerState_CONTAINER_RUNNING {
			status, err := n.service.ContainerStatus(ctx, c.Id)
			log, _ := os.ReadFile(filepath.Join(n.dir, "log", c.Labels["pod"], "main.log"))
			return errors.Join(fmt.Errorf("container %s has exited: %v: %s", c.Id, status, log), err)
		}
	}
	return nil
}

// start starts a pod with one container.
func (n *node) start(ctx context.Context, i int) error {
	name := fmt.Sprint("pod-", i)
	config := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"}, Hostname: name, LogDirectory: filepath.Join(n.dir, "log", name),
		Linux: &cri.LinuxPodSandboxConfig{CgroupParent: n.cgroup + "/" + name},
	}
	if err := os.MkdirAll(config.LogDirectory, 0o700); err != nil {
		return err
	}
	sandbox, err := n.service.RunPodSandbox(ctx, config, "")
	if err != nil {
		return err
	}
	n.sandboxes = append(n.sandboxes, sandbox)
	id, err := n.service.CreateContainer(ctx, sandbox, &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: "main"}, Labels: map[string]string{"pod": name}, Image: &cri.ImageSpec{Image: store.TestProgramImage}, Args: []string{"-listen=:80"}, LogPath: "main.log",
		Linux: &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{}},
	}, config)
	if err != nil {
		return err
	}
	n.containers = append(n.containers, id)
	return n.service.StartContainer(ctx, id)
}

// runCommands runs a command in each container and returns the times.
func (n *node) runCommands(ctx context.Context) (times []time.Duration, err error) {
	for _, id := range n.containers {
		start := time.Now()
		out, err := n.service.ExecSync(ctx, id, []string{"/workload", "true"}, time.Minute)
		if err != nil {
			return nil, err
		}
		if out.GetExitCode() != 0 {
			return nil, fmt.Errorf("command in container %s: %v", id, out)
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

// shimMemory returns the current resident memory (VmRSS) and its peak (VmHWM) of each shim of this command, in
// KiB.
func shimMemory() (current, peak []int64, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if program, _, _ := strings.Cut(string(line), "\x00"); program != shim.Name || !strings.Contains(string(line), "berth-bench-") {
			continue
		}
		for name, list := range map[string]*[]int64{"VmRSS:": &current, "VmHWM:": &peak} {
			status, _ := os.ReadFile(filepath.Join(dir, "status"))
			_, value, _ := strings.Cut(string(status), name)
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(value, "kB", 2)[0]), 10, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("%s/status: %s %w", dir, name, err)
			}
			*list = append(*list, kib)
		}
	}
	return current, peak, nil
}

// printQuantiles prints quantiles of the values and the maximum. It sorts the values.
func printQuantiles[T time.Duration | int64](label string, all []T, convert func(T) float64) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(q float64) float64 { return convert(all[min(int(q*float64(len(all))), len(all)-1)]) }
	fmt.Printf("%-24s p50 %.1f  p90 %.1f  p99 %.1f  max %.1f\n", label, at(.5), at(.9), at(.99), convert(all[len(all)-1]))
}
