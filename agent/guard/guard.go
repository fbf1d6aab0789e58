package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/cgroup"
	agentpressure "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Options configures a Guard. Fields are required unless marked optional.
type Options struct {
	Node   string
	Client kubernetes.Interface
	Host   *cgroup.Host
	// Cgroup is the node's cgroup, "/" for the whole machine. Layout locates the pods' cgroups.
	Cgroup string
	Layout Layout
	// Config has the eviction thresholds; disk thresholds are ignored.
	Config nodepressure.Config
	// Events and Metrics are optional.
	Events  record.EventRecorder
	Metrics *agentpressure.Metrics
	Log     klog.Logger
}

// Guard evicts pods of one node. It implements the Agent interface of package agent/pressure.
type Guard struct {
	opts    Options
	monitor *agentpressure.Manager
	pods    cache.SharedIndexInformer
	stats   *stats.Pods
	ctx     context.Context // the context of Run

	mu       sync.Mutex
	evicting map[types.UID]bool // evictions in progress
}

// New validates the options and opens the cgroups.
func New(o Options) (*Guard, error) {
	g := &Guard{opts: o, evicting: map[types.UID]bool{}}
	o.Config.Thresholds = slices.DeleteFunc(slices.Clone(o.Config.Thresholds), func(t nodepressure.Threshold) bool { return !slices.Contains(signals, t.Signal) })
	o.Config.LocalStorage = false
	if len(o.Config.Thresholds) == 0 {
		return nil, fmt.Errorf("guard of node %s: no memory or PID threshold: set evictionHard or evictionSoft, for example memory.available", o.Node)
	}
	if !o.Host.Exists(o.Layout.Pods()) {
		return nil, fmt.Errorf("guard of node %s: cgroup %s does not exist: check that a kubelet runs, its cgroupRoot, and that /sys/fs/cgroup is the host's", o.Node, o.Layout.Pods())
	}
	g.stats = stats.NewPods(stats.Options{Host: o.Host, Cgroup: g.cgroup})
	var err error
	g.monitor, err = agentpressure.New(agentpressure.Options{Node: o.Node, Host: o.Host, Cgroup: o.Cgroup, Pods: o.Layout.Pods(),
		Config: o.Config, Stats: g.stats, Events: o.Events, Metrics: o.Metrics, Log: o.Log})
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", o.Node).String()
	}))
	g.pods = factory.Core().V1().Pods().Informer()
	return g, nil
}

// Mechanism describes how memory is watched, for logs.
func (g *Guard) Mechanism() string { return g.monitor.Describe() }

func (g *Guard) cgroup(p *corev1.Pod) string { return g.opts.Layout.Pod(p.Status.QOSClass, p.UID) }

// Run evicts pods until ctx is done.
func (g *Guard) Run(ctx context.Context) error {
	defer g.stats.Close()
	g.ctx = ctx
	go g.pods.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), g.pods.HasSynced) {
		g.monitor.Close()
		return nil
	}
	return g.monitor.Run(ctx, g)
}

// Pods implements pressure.Agent. It returns the pods that have not terminated, and those whose
// eviction is in progress, because they still hold memory.
func (g *Guard) Pods(string) []*corev1.Pod {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*corev1.Pod
	for _, obj := range g.pods.GetStore().List() {
		if p, ok := obj.(*corev1.Pod); ok && (!isTerminated(p) || g.evicting[p.UID]) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func isTerminated(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Report implements pressure.Agent. It does nothing: the kubelet writes the node's conditions.
func (g *Guard) Report(string) {}

// setEvicting records whether the eviction of a pod is in progress.
func (g *Guard) setEvicting(uid types.UID, evicting bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if evicting {
		g.evicting[uid] = true
	} else {
		delete(g.evicting, uid)
	}
}

// pod returns the pod with the UID, or nil if it terminated or was deleted.
func (g *Guard) pod(uid types.UID) *corev1.Pod {
	for _, p := range g.Pods("") {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// Backoff of status writes, and the poll interval of waitTerminated.
const (
	initialBackoff = 50 * time.Millisecond
	maxBackoff     = 5 * time.Second
	pollInterval   = 20 * time.Millisecond
)
