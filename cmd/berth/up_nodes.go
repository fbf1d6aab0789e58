package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/real"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/virtual"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/config"
)

// upNodes are the nodes of berth up that run real pods.
type upNodes struct {
	real           bool
	runtime        string
	endpoint, root string
	virtual        int
	memory, disk   string
	inodes         int64
	lowDisk        int64
	place          string // of the virtual nodes
	home           string // the data directory, as it was given
	ephemeral      bool
	name           string // of the machine as a node

	size  virtual.Options // as memory and disk say
	embed embeddedNodes
	notes []string // what else there is to say of them
	flags *pflag.FlagSet
}

// simulatedTaint keeps pods that do not tolerate it off simulated nodes where
// there are real ones: there no program runs.
var simulatedTaint = corev1.Taint{Key: "berth.dev/simulated", Effect: corev1.TaintEffectNoSchedule}

func (f *upNodes) add(flags *pflag.FlagSet) {
	f.flags = flags
	flags.BoolVar(&f.real, "real-node", false, "make this machine a node")
	runtimeFlag(flags, &f.runtime)
	flags.StringVar(&f.endpoint, "runtime-endpoint", defaultEndpoint, "socket of the container runtime of --real-node; where none answers, or it has no network, pods run in Berth's own runtime")
	flags.StringVar(&f.root, "root-dir", "", "directory of --real-node's agent: the volumes, files and logs of its pods; without it agent in the data directory")
	flags.IntVar(&f.virtual, "virtual-nodes", 0, "number of nodes to make of parts of this machine: real pods, with a cgroup, a disk and a container runtime of each node's own")
	flags.StringVar(&f.memory, "virtual-memory", "2Gi", "memory of each virtual node")
	flags.StringVar(&f.disk, "virtual-disk", "2Gi", "disk of each virtual node: a sparse file")
	flags.Int64Var(&f.lowDisk, "low-diskspace-threshold-mb", defaultLowDisk, "with fewer MiB available on its disk a real or virtual node takes no new pods")
	flags.Int64Var(&f.inodes, "virtual-inodes", 0, "inodes of each virtual node's disk; 0: as many as ext4 makes by itself")
}

// any says whether there are to be such nodes.
func (f *upNodes) any() bool { return f.real || f.virtual > 0 }

// check reads sizes and looks for what the nodes need on this machine.
func (f *upNodes) check() error {
	if f.virtual < 0 || f.virtual > 100 {
		return fmt.Errorf("--virtual-nodes %d: must be between 0 and 100", f.virtual)
	}
	memory, err := amount("--virtual-memory", f.memory, "2Gi")
	if err != nil {
		return err
	}
	disk, err := amount("--virtual-disk", f.disk, "2Gi")
	if err != nil {
		return err
	}
	if err := f.needed(); err != nil {
		return err
	}
	if err := lowDiskFault(f.lowDisk); err != nil {
		return err
	}
	if err := f.sizes(memory.Value(), disk.Value()); err != nil {
		return err
	}
	f.size = virtual.Options{Memory: memory.Value(), Disk: disk.Value(), Inodes: f.inodes}
	return f.choose()
}

// embeddedNodes are the kinds of nodes whose pods run in the embedded runtime.
type embeddedNodes struct{ real, virtual bool }

// cannot says that real nodes cannot be made here, and nobody has asked for a way that would have to do.
type cannot struct {
	error
	flag string // that asks for them
}

// orSimulated says what real nodes lack here, and asks for none then.
func (f *upNodes) orSimulated(w io.Writer, fault error) error {
	var c cannot
	if !errors.As(fault, &c) {
		return fault
	}
	instead := "So nodes are simulated"
	f.virtual, f.embed.virtual = 0, false
	if c.flag == "real-node" {
		f.real = false
	} else if f.real {
		instead = "So the machine is one node, and has no virtual ones"
	}
	fmt.Fprintf(w, "berth: %s. %s.\n", strings.ReplaceAll(c.Error(), "\n", "; "), instead)
	return nil
}

// choose decides what runs pods.
func (f *upNodes) choose() error {
	named := f.flags != nil && f.flags.Changed("runtime-endpoint")
	may := func(flag string, err error) error {
		if err == nil {
			return nil
		}
		if err = fmt.Errorf("--%s: %w", flag, err); f.runtime == runtimeAuto && !named {
			return cannot{err, flag}
		}
		return err
	}
	var err error
	if f.real {
		if bad := validation.IsDNS1123Subdomain(f.name); len(bad) > 0 {
			return fmt.Errorf("--real-node: this machine is called %q, and no node can be: %s: call it otherwise, with hostnamectl or hostname", f.name, bad[0])
		}
		cri := f.machine()
		if f.embed.real, err = embeds(f.runtime, named, cri, f.root); err != nil {
			return may("real-node", err)
		}
		if f.embed.real && f.runtime == runtimeAuto && socketThere(f.endpoint) {
			f.notes = append(f.notes, "since "+insteadOf(cri))
		}
	}
	if f.virtual > 0 {
		cri := containerd.Missing(true)
		if f.embed.virtual, err = embeds(f.runtime, false, cri, ""); err != nil {
			return may("virtual-nodes", err)
		}
		return may("virtual-nodes", virtual.Missing())
	}
	return nil
}

// look notes what their pods will lack.
func (f *upNodes) look(k *config.Kubelet) {
	if _, err := exec.LookPath("iptables"); err != nil && (f.real && f.embed.real || f.virtual > 0 && f.embed.virtual) {
		f.notes = append(f.notes, "without iptables, which is not installed, pods reach nothing beyond this machine and have no host ports")
	}
	if err := pods.NoServers(k.ResolvConf); err != nil && f.any() && len(k.ClusterDNS) == 0 {
		f.notes = append(f.notes, err.Error())
	}
}

// machine says why this machine cannot be a node with a container runtime that speaks CRI.
func (f *upNodes) machine() error {
	switch {
	case os.Geteuid() != 0:
		return errors.New("an agent makes cgroups and mounts: that needs root")
	case !socketThere(f.endpoint):
		return fmt.Errorf("no container runtime listens at %s: start containerd, or say with --runtime-endpoint where one is; --virtual-nodes brings its own", f.endpoint)
	}
	return criFault(f.runtime, f.endpoint)
}

// needed refuses flags that are about nodes which are not asked for.
func (f *upNodes) needed() error {
	asks := map[string]bool{"real-node": f.real, "virtual-nodes": f.virtual > 0, "real-node or --virtual-nodes": f.any()}
	for flag, of := range map[string]string{"virtual-memory": "virtual-nodes", "virtual-disk": "virtual-nodes", "virtual-inodes": "virtual-nodes",
		"runtime-endpoint": "real-node", "root-dir": "real-node", "runtime": "real-node or --virtual-nodes"} {
		asked := asks[of]
		if f.flags != nil && f.flags.Changed(flag) && !asked {
			return fmt.Errorf("--%s: has no effect without --%s", flag, of)
		}
	}
	return nil
}

const (
	// mostDisk is as large as a file on ext4 may be, with its usual blocks.
	mostDisk = 16 << 40
	// leastInodes is what a containerd and a handful of small images need.
	leastInodes = 500
)

// sizes refuses virtual nodes that cannot be made, or that would take no pod.
func (f *upNodes) sizes(memory, disk int64) error {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return err
	}
	total := int64(machine.Totalram) * int64(machine.Unit)
	switch {
	case memory < virtual.MinMemory:
		return fmt.Errorf("--virtual-memory %s: must be at least %dMi", f.memory, virtual.MinMemory>>20)
	case memory > total:
		return fmt.Errorf("--virtual-memory %s: must be at most the machine's %dMi", f.memory, total>>20)
	case disk < virtual.MinDisk:
		return fmt.Errorf("--virtual-disk %s: must be at least %dMi", f.disk, virtual.MinDisk>>20)
	case disk > mostDisk:
		return fmt.Errorf("--virtual-disk %s: must be at most 16Ti", f.disk)
	case f.virtual > 0 && disk <= f.lowDisk<<20:
		return fmt.Errorf("--virtual-disk %s: must be above --low-diskspace-threshold-mb %d, or the node takes no pods", f.disk, f.lowDisk)
	case f.inodes < 0 || f.inodes > 0 && f.inodes < leastInodes:
		return fmt.Errorf("--virtual-inodes %d: must be at least %d, or 0", f.inodes, leastInodes)
	}
	return nil
}

// names of the nodes: the machine's own, and v1, v2, ...
func (f *upNodes) names() []string {
	var out []string
	if f.real {
		out = append(out, f.name)
	}
	for i := range f.virtual {
		out = append(out, fmt.Sprintf("v%d", i+1))
	}
	return out
}

func machineName() string {
	host, _ := os.Hostname()
	return strings.ToLower(cmp.Or(host, "machine"))
}

// sweep removes virtual nodes that a process which was killed left behind.
func (f *upNodes) sweep(ctx context.Context) error {
	if _, err := os.Stat(f.place); err != nil && f.virtual == 0 || os.Geteuid() != 0 {
		return nil
	}
	place, err := virtual.At(f.place)
	if err != nil {
		return err
	}
	return place.Sweep(ctx)
}

// start starts the agents of all nodes, each with a credential of its own.
func (f *upNodes) start(p *parts, server *apiserver.Server, settings settings) error {
	options := func(name string) (real.Options, error) {
		config, err := nodeCredential(server, name)
		return real.Options{Name: name, Config: config, LowDisk: f.lowDisk,
			Nodes: settings.berth.Nodes, Kubelet: settings.kubelet, Pressure: settings.berth.Pressure.Options(), Log: klog.Background()}, err
	}
	if f.real {
		o, err := options(f.name)
		if err != nil {
			return err
		}
		o.Endpoint, o.Root, o.Cgroup = f.endpoint, f.root, "/"
		if f.embed.real {
			o.Embedded = &real.Embedded{}
		}
		o.Left = func(pods int) { tellLeft(os.Stderr, o.Name, pods, f.left(o.Name)) }
		p.run("node "+o.Name, func(ctx context.Context) error { return real.Run(ctx, o) })
	}
	if f.virtual == 0 {
		return nil
	}
	place, err := virtual.At(f.place)
	if err != nil {
		return err
	}
	for i := range f.virtual {
		o, err := options(fmt.Sprintf("v%d", i+1))
		if err != nil {
			return err
		}
		if f.embed.virtual {
			o.Embedded = &real.Embedded{}
		}
		size := f.size
		size.Index = i
		p.run("node "+o.Name, func(ctx context.Context) error { return real.Virtual(ctx, place, size, o) })
	}
	return nil
}

// tellLeft says what runs on when a node's agent has ended, and what comes of it.
func tellLeft(w io.Writer, node string, pods int, then string) {
	if pods == 0 {
		return
	}
	what := "1 pod runs on"
	if pods > 1 {
		what = fmt.Sprintf("%d pods run on", pods)
	}
	fmt.Fprintf(w, "berth: node %s: %s; %s\n", node, what, then)
}

// stopping is how pods of a node are stopped, for who has been told that they run on.
func stopping(node, kubeconfig string) string {
	return fmt.Sprintf("to stop pods, delete them while it runs: berth kubectl --kubeconfig %s delete pods --all-namespaces --field-selector spec.nodeName=%s", kubeconfig, node)
}

// left says what comes of pods that run on.
func (f *upNodes) left(node string) string {
	again := "berth up --real-node --data-dir " + f.home
	if f.ephemeral {
		return "nothing is kept that knows them: the next " + again + " removes them"
	}
	return again + " takes up what runs; " + stopping(node, kubeconfigIn(f.home))
}

// nodeCredential is a node's own connection to the server.
func nodeCredential(server *apiserver.Server, name string) (*rest.Config, error) {
	authority := server.Authority()
	cert, key, err := authority.ClientPEM(pki.Node(name))
	return &rest.Config{Host: "https://" + server.Address(), UserAgent: "berth-agent",
		TLSClientConfig: rest.TLSClientConfig{CAData: authority.CAPEM(), CertData: cert, KeyData: key}}, err
}

// settle says where things are, and what the machine is called: the virtual nodes in the data directory that is
// locked, not in that of --ephemeral, which nobody finds after a crash.
func (f *upNodes) settle(dataDir string, ephemeral bool) {
	f.home, f.ephemeral = dataDir, ephemeral
	f.place = filepath.Join(dataDir, "virtual")
	f.root = cmp.Or(f.root, filepath.Join(dataDir, "agent"))
	f.name = cmp.Or(real.KeptName(f.root), machineName())
}
