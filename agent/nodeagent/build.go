//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cadvisor"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image"
	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/agent/renewal"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/agent/volume"
)

// dialTimeout bounds the wait for the container runtime's socket.
const dialTimeout = 30 * time.Second

// build creates the parts of the node in the order of their dependencies.
func (n *node) build(ctx context.Context) (err error) {
	o := &n.opts
	if err := os.MkdirAll(o.Root, 0o750); err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	unlock, err := lock(o.Root)
	if err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	n.closers = append(n.closers, unlock)
	if n.host, err = cgroup.Detect(); err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	if unlock, err = lockCgroup(n.host, o.Cgroup); err != nil {
		return fmt.Errorf("node %s: %w", o.Name, err)
	}
	n.closers = append(n.closers, unlock)
	var config *rest.Config
	n.renewal, config, err = renewal.New(ctx, renewal.Options{Config: o.Config, Node: o.Name, Dir: filepath.Join(o.Root, "pki")})
	if err != nil {
		return err
	}
	n.renewal.Register(n.registry)
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server limits the rate
	if n.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if n.listener, err = server.Listen(net.JoinHostPort("", strconv.Itoa(o.Port))); err != nil {
		return err
	}
	if n.object, err = o.newNode(n.host, n.listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{n.setPodCIDR, n.startRuntime, n.connectRuntime, n.describeRuntime} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(saveName(o.Root, o.Name), o.saveRuntime()); err != nil { // a full disk must not prevent the agent from freeing space
		o.Log.Error(err, "Failed to save node name and runtime", "node", o.Name)
	}
	n.closers = append(n.closers, n.startEvents())
	if n.volumes, err = volume.New(volume.Options{Client: n.client, Root: o.Root, Node: n.current, DiskReserve: o.claimReserve, ClaimBytes: o.claimBytes, Log: o.Log, ImageMounts: n.runtime,
		Event: func(pod *corev1.Pod, eventType, reason, message string) {
			n.recordEvent(pod, "", eventType, reason, message)
		}}); err != nil {
		return err
	}
	if err := n.newPressure(ctx); err != nil {
		return err
	}
	if err := n.newAgent(); err != nil {
		return err
	}
	return n.newCollector(ctx)
}

func (n *node) boundPods() []*corev1.Pod { return n.agent.BoundPods(n.opts.Name) }

// current returns the registered node with its current addresses.
func (n *node) current() *corev1.Node {
	node := *n.object
	node.Status.Addresses = n.opts.addresses()
	return &node
}

func (n *node) startRuntime(ctx context.Context) error {
	if n.opts.startRuntime == nil {
		return nil
	}
	if err := n.opts.startRuntime(ctx, &n.opts); err != nil {
		return fmt.Errorf("node %s: %w", n.opts.Name, err)
	}
	return nil
}

// connectRuntime connects to the container runtime: through its socket, or in this process.
func (n *node) connectRuntime(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	disconnect := func() { _ = n.runtime.Close() }
	if e := n.opts.Embedded; e != nil {
		n.runtime, disconnect, err = e.connect(ctx, &n.opts)
	} else {
		n.runtime, err = cri.Dial(ctx, n.opts.Endpoint)
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", n.opts.Name, err)
	}
	n.closers = append(n.closers, disconnect)
	return nil
}

// newAgent creates the agent and the runner of pods.
func (n *node) newAgent() error {
	o := &n.opts
	metrics := agent.NewMetrics()
	n.staticPods = make(chan []*corev1.Pod)
	n.registry.MustRegister(metrics)
	var runnerErr error
	a, err := agent.New(agent.Options{
		Client: n.client, Nodes: []*corev1.Node{n.object}, StatusWriters: o.Nodes.StatusWriters,
		LeaseRenewal: time.Duration(o.Nodes.LeaseRenewalSeconds) * time.Second, StatusInterval: o.Kubelet.NodeStatusReport,
		Allocations: allocationStore{o.Root}, StaticPods: n.staticPods, PodCIDR: n.networkPodCIDR(), Pressure: n.pressureFor, Ready: n.health.ready, Addresses: o.addresses, Images: n.images,
		AllowedUnsafeSysctls: o.Kubelet.AllowedUnsafeSysctls, MaxContainerRestartPeriod: o.Kubelet.MaxRestartDelay, Shutdown: shutdownClasses(o.Kubelet.Shutdown),
		Log: o.Log, Events: n.events, NodeEvents: n.events, Metrics: metrics,
		Runtime: func(report func(runtime.Report)) runtime.Runtime {
			runnerErr = n.newRunner(report)
			return n.runner
		},
	})
	n.agent = a
	if runnerErr != nil {
		return runnerErr
	}
	return err
}

// pressureFor returns the eviction manager. For a fresh node it hides the method that restores the
// conditions from the Node object.
func (n *node) pressureFor(string) agent.PressureManager {
	if n.opts.Fresh {
		return struct{ agent.PressureManager }{n.pressure}
	}
	return n.pressure
}

// newRunner creates the runner of pods with image puller and prober.
func (n *node) newRunner(report func(runtime.Report)) (err error) {
	o, k := &n.opts, &n.opts.Kubelet
	metrics := image.NewMetrics()
	n.registry.MustRegister(metrics)
	n.puller = image.New(image.Options{Service: n.runtime, RecordEvent: n.recordEvent, Metrics: metrics, MaxParallelPulls: parallelPulls(k), OnChange: n.imagePulled,
		Secret: func(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
			return n.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		}})
	n.prober = probe.New(probe.Options{
		Exec: func(ctx context.Context, id string, command []string, timeout time.Duration) (int, string, error) {
			return n.runner.Exec(ctx, id, command, timeout)
		},
		Report:      func(r probe.Result) { n.runner.HandleProbeResult(r) },
		RecordEvent: n.recordEvent,
	})
	n.runner, err = pods.New(pods.Options{
		Service: n.runtime, Client: n.client, NodeName: o.Name, Node: n.current,
		Root: o.Root, Logs: o.Logs, Cgroups: n.host, CgroupRoot: o.Cgroup,
		Images: n.puller, Volumes: n.volumes, Prober: n.prober, Event: n.recordEvent, Log: o.Log,
		DNS:       pods.DNS{Servers: k.ClusterDNS, NoCluster: o.NoClusterDNS, Domain: k.ClusterDomain, ResolvConf: k.ResolvConf},
		PidsLimit: pidsLimit(k), SeccompDefault: k.SeccompDefault, NoCPUQuota: !k.CPUCFSQuota,
		LogSize: k.Logs.MaxSize, LogFiles: int(k.Logs.MaxFiles), PortInUse: network.FindListener,
		UserNamespaces: n.newUserNamespaces(),
		AwaitEndpoints: o.AwaitEndpoints, EndpointTimeout: time.Duration(o.Nodes.EndpointTimeoutMilliseconds) * time.Millisecond,
	}, report)
	return err
}

// newServer creates the node's HTTPS server.
func (n *node) newServer() (*server.Server, error) {
	o := &n.opts
	config := rest.CopyConfig(o.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("node %s: loading credentials: %w", o.Name, err)
	}
	certificate, err := server.ServingCertificate(o.Name, config.CertData, config.KeyData)
	if err != nil {
		return nil, err
	}
	return server.New(server.Options{
		Listener: n.listener, Certificate: certificate, Renewed: n.renewal.Serving, ClientCA: config.CAData, Client: n.client, Log: o.Log,
		Nodes: []*server.Node{{Name: o.Name, Pods: n.boundPods, Runtime: n.runtime, Summary: n.newSummarizer().Summary,
			Disk:     func(ctx context.Context) (any, error) { return n.disk.Report(ctx) },
			Pressure: func(ctx context.Context) (any, error) { return n.pressure.Report(ctx) },
			Containers: cadvisor.Collector{Options: cadvisor.Options{Host: n.host, Node: n.current, Root: o.Cgroup, Proc: "/proc",
				NodeFs: n.nodeFs, ImageFs: n.imageFs, ContainerFs: n.containerFs, Usage: n.stats.PodStats,
				Pods:   func() []*corev1.Pod { return n.agent.Pods(o.Name) },
				Cgroup: func(pod *corev1.Pod) string { return pods.Cgroup(o.Cgroup, pod) }}},
			Metrics: n.registry}},
	})
}
