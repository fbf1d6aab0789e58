package berthtest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/sim"
)

const (
	// GracePeriod is the time without heartbeats after which a node is unreachable; 50 s by default in Kubernetes.
	GracePeriod = 5 * time.Second
	// TolerationSeconds is how long pods without their own tolerations stay on a node that is not ready or
	// unreachable; 300 by default in Kubernetes.
	TolerationSeconds = 1
	// PressureTransition is how long a node's pressure condition stays true after the pressure has ended; 5
	// minutes by default in Kubernetes.
	PressureTransition = 2 * time.Second

	defaultNodes   = 3
	defaultTimeout = 30 * time.Second
)

// Option configures [Start].
type Option func(*options) error

type options struct {
	nodes                      []*corev1.Node
	nodesSet                   bool
	crdObjects, webhookObjects []*unstructured.Unstructured
	timeout                    time.Duration
	timeoutSet                 bool
	seed                       uint64
	onLine                     func(sim.Line)
	inputs                     *recording.Recorder // records the scheduler's inputs; nil: nothing is recorded
}

// Nodes adds count nodes n1, n2, ... with 8 CPU and 16 GiB of memory each. Without Nodes and [Node] the
// cluster has three of them; Nodes(0) starts a cluster without nodes.
func Nodes(count int) Option {
	return func(o *options) error {
		if count < 0 {
			return fmt.Errorf("nodes: %d: must be 0 or more", count)
		}
		o.nodesSet = true
		for i := range count {
			if err := Node(fmt.Sprintf("n%d", i+1))(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// Node adds a node with 8 CPU and 16 GiB of memory, unless [Capacity] changes them.
func Node(name string, opts ...NodeOption) Option {
	return func(o *options) error {
		o.nodesSet = true
		n, err := newNode(name, opts)
		if err != nil {
			return err
		}
		for _, existing := range o.nodes {
			if existing.Name == name {
				return fmt.Errorf("node %q: added twice", name)
			}
		}
		o.nodes = append(o.nodes, n)
		return nil
	}
}

// CRDs creates the CustomResourceDefinitions in YAML or JSON files, or in all such files of directories. [Start]
// returns when the API server serves them.
func CRDs(paths ...string) Option {
	return func(o *options) error {
		objects, err := readObjects(paths, "CustomResourceDefinition")
		o.crdObjects = append(o.crdObjects, objects...)
		return err
	}
}

// Webhooks creates the MutatingWebhookConfigurations and ValidatingWebhookConfigurations in YAML or JSON files, or
// in all such files of directories. Webhooks of a Service are called at the address in [Cluster.Webhook] instead.
func Webhooks(paths ...string) Option {
	return func(o *options) error {
		objects, err := readObjects(paths, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
		o.webhookObjects = append(o.webhookObjects, objects...)
		return err
	}
}

// Seed sets the seed of [StartVirtual]; 0 by default. It decides, for example, which of two equal nodes gets a pod.
func Seed(seed uint64) Option {
	return func(o *options) error {
		o.seed = seed
		return nil
	}
}

// Timeline passes the timeline of [StartVirtual] to f, one line for each decision and for each change of a pod or
// node. f must not call methods of the cluster.
func Timeline(f func(line string)) Option {
	return func(o *options) error {
		o.onLine = func(l sim.Line) { f(l.String()) }
		return nil
	}
}

// Timeout sets how long [Start], and the methods of [Cluster] and [VirtualCluster] wait; by default 30 s, and one hour of
// virtual time.
func Timeout(d time.Duration) Option {
	return func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("timeout %v: must be positive", d)
		}
		o.timeout, o.timeoutSet = d, true
		return nil
	}
}

// NodeOption configures a node.
type NodeOption func(*corev1.Node) error

// Label sets a label.
func Label(key, value string) NodeOption {
	return func(n *corev1.Node) error {
		n.Labels[key] = value
		return nil
	}
}

// Taint adds a taint.
func Taint(key, value string, effect corev1.TaintEffect) NodeOption {
	return func(n *corev1.Node) error {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
		return nil
	}
}

// Capacity sets the capacity of a resource, for example cpu, memory, pods or nvidia.com/gpu.
func Capacity(name corev1.ResourceName, quantity string) NodeOption {
	return func(n *corev1.Node) error {
		q, err := resource.ParseQuantity(quantity)
		if err != nil || q.Sign() < 0 {
			return fmt.Errorf("capacity %s: %q: must be a quantity of at least 0, such as 8 or 16Gi", name, quantity)
		}
		n.Status.Capacity[name] = q
		return nil
	}
}

func newNode(name string, opts []NodeOption) (*corev1.Node, error) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, fmt.Errorf("node %q: %s", name, problems[0])
	}
	n := agent.NewNode(name, resource.MustParse("8"), resource.MustParse("16Gi"))
	n.Labels, n.Annotations = map[string]string{}, map[string]string{}
	for _, c := range opts {
		if err := c(n); err != nil {
			return nil, fmt.Errorf("node %q: %w", name, err)
		}
	}
	return n, nil
}

// newOptions applies options to the defaults.
func newOptions(opts []Option) (*options, error) {
	o := &options{timeout: defaultTimeout}
	for _, c := range opts {
		if err := c(o); err != nil {
			return nil, err
		}
	}
	if !o.nodesSet {
		return o, Nodes(defaultNodes)(o)
	}
	return o, nil
}

// newSettings returns the default configuration with the times of tests.
func newSettings() (settings.Settings, error) {
	s, err := settings.Load(nil)
	if err != nil {
		return s, err
	}
	s.Berth.Nodes.LeaseRenewalSeconds = 1
	s.Berth.NodeLifecycle.GracePeriodSeconds = int(GracePeriod / time.Second)
	s.Berth.NodeLifecycle.StartupGraceSeconds = int(GracePeriod / time.Second)
	s.Berth.NodeLifecycle.MonitorPeriodSeconds = 1
	s.Berth.NodeLifecycle.EvictionRate = 100
	s.Berth.APIServer.DefaultNotReadyTolerationSeconds = TolerationSeconds
	s.Berth.APIServer.DefaultUnreachableTolerationSeconds = TolerationSeconds
	s.Kubelet.Pressure.TransitionPeriod = PressureTransition
	return s, nil
}
