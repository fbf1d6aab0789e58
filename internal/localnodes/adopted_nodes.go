package localnodes

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/server/simulatedstats"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// AdoptedKey is the annotation or label of nodes without an agent. Its value is "fake", as for kwok.
const AdoptedKey = "kwok.x-k8s.io/node"

// Adoption simulates the nodes that other clients create with [AdoptedKey].
type Adoption struct {
	Config         *rest.Config // of the user of simulated nodes
	Settings       settings.Settings
	Serving        simulatedstats.Options
	PodCIDRTimeout time.Duration
	// Managed are the names of the nodes that have an agent.
	Managed []string

	wg      sync.WaitGroup
	running map[string]adoptedNode // by node name; used by the informer's goroutine only
}

type adoptedNode struct {
	uid  types.UID
	stop context.CancelFunc
}

// Start watches nodes. The nodes stop when the group does.
func (a *Adoption) Start(group *rungroup.Group) {
	group.Start("adopted nodes", a.run)
}

func (a *Adoption) run(ctx context.Context) error {
	a.running = map[string]adoptedNode{}
	client, err := kubernetes.NewForConfig(a.Config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(func(obj any) (any, error) {
		if n, ok := obj.(*corev1.Node); ok && !isAdoptable(n) {
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}}, nil
		}
		return obj, nil
	}))
	if err := workqueue.Watch(factory.Core().V1().Nodes().Informer(), func(previous, current *corev1.Node) { a.handle(ctx, previous, current) }); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	a.wg.Wait()
	return nil
}

// handle starts and stops the simulation of a node.
func (a *Adoption) handle(ctx context.Context, previous, current *corev1.Node) {
	name := cmp.Or(previous, current).Name
	adopted, running := a.running[name]
	if running && (current == nil || current.UID != adopted.uid || !isAdoptable(current)) {
		adopted.stop()
		delete(a.running, name)
		running = false
	}
	if running || current == nil || !isAdoptable(current) {
		return
	}
	if slices.Contains(a.Managed, name) {
		return
	}
	nodeCtx, stop := context.WithCancel(ctx)
	a.running[name] = adoptedNode{current.UID, stop}
	a.wg.Go(func() {
		defer stop()
		if err := a.simulate(nodeCtx, adoptedManifest(current)); err != nil && nodeCtx.Err() == nil {
			klog.Background().Error(err, "Failed to simulate the node", "node", name)
		}
	})
}

// simulate runs the agent of one node until ctx is done.
func (a *Adoption) simulate(ctx context.Context, manifest *corev1.Node) error {
	s, err := newSimulated(a.Config, []*corev1.Node{manifest}, a.Settings, a.Serving,
		agent.Options{StatusWriters: adoptedStatusWriters, PodCIDRTimeout: a.PodCIDRTimeout, ExternallyRegistered: true})
	if err != nil {
		return err
	}
	return rungroup.Run(ctx, func(group *rungroup.Group) error {
		s.Start(group)
		return nil
	})
}

// adoptedStatusWriters bounds the goroutines of an adopted node: there may be many nodes, each with its own agent.
const adoptedStatusWriters = 2

func isAdoptable(n *corev1.Node) bool {
	return n.Annotations[AdoptedKey] == "fake" || n.Labels[AdoptedKey] == "fake"
}

// adoptedManifest returns agent.AdoptedManifest of a node, with kwok's default capacity if the node has none.
func adoptedManifest(n *corev1.Node) *corev1.Node {
	out := agent.AdoptedManifest(n)
	if len(out.Status.Capacity)+len(out.Status.Allocatable) == 0 {
		out.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1M"),
		}
	}
	return out
}
