package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/virtual"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/demo"
	"github.com/berthproject/berth/engine/pressure/usage"
	"github.com/berthproject/berth/internal/config"
)

// What each of the demo's nodes has.
const (
	demoNodes  = 3
	demoCPU    = "4" // of simulated ones
	demoMemory = 1 << 30
	demoDisk   = 1 << 30
	// demoImages are what lies unused on the disk of a simulated node.
	demoImages = 256 << 20
)

// demoKubelet is how the nodes mind what they have: thresholds that suit their size, and conditions that are over soon.
const demoKubelet = `{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
  "evictionHard": {"memory.available": "100Mi", "nodefs.available": "600Mi", "imagefs.available": "600Mi", "nodefs.inodesFree": "5%", "imagefs.inodesFree": "5%"},
  "evictionPressureTransitionPeriod": "1s", "imageMinimumGCAge": "1s"}`

// crew are the nodes that a demo brings.
type crew struct {
	on       *stageCluster
	dir      demoDir
	settings settings
	client   kubernetes.Interface
	names    []string
	why      string // the nodes are simulated; empty: they are not
	place    *virtual.Place
	ballast  string // an image; see demo.Options
	close    func()
}

// newCrew removes what an earlier demo has left of its nodes.
func newCrew(ctx context.Context, on *stageCluster, dir demoDir, s settings, simulated bool) (*crew, error) {
	c := &crew{on: on, dir: dir, settings: s, close: func() {}, why: "--simulated asks for them"}
	for i := range demoNodes {
		c.names = append(c.names, fmt.Sprintf("berth-demo-%d", i+1))
	}
	var err error
	if c.client, err = kubernetes.NewForConfig(on.config); err != nil {
		return nil, err
	}
	document := config.Document{File: "berth demo", APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: config.KubeletKind, JSON: []byte(demoKubelet)}
	if c.settings.kubelet, err = config.ReadKubelet(document); err != nil {
		return nil, err
	}
	if !simulated {
		c.why = c.onlySimulated()
	}
	if c.why == "" {
		if err := c.prepare(ctx); err != nil {
			return nil, err
		}
	}
	return c, c.remove(ctx)
}

// start starts the agents, and waits until the nodes take pods.
func (c *crew) start(ctx context.Context, p *parts) error {
	var nodes []*corev1.Node
	var names []string
	var err error
	if c.why == "" {
		names, err = c.names, c.real(p)
	} else {
		nodes, err = c.simulated(p)
	}
	if err != nil {
		return err
	}
	_, err = awaitNodes(ctx, c.on.config, nodes, names)
	return err
}

// simulated starts the agent of simulated nodes.
func (c *crew) simulated(p *parts) ([]*corev1.Node, error) {
	var nodes []*corev1.Node
	for _, name := range c.names {
		n := agent.Uniform(name, resource.MustParse(demoCPU), *resource.NewQuantity(demoMemory, resource.BinarySI))
		n.Labels = map[string]string{demo.Label: "true"}
		n.Spec.Taints = []corev1.Taint{demo.Taint}
		n.Annotations = map[string]string{usage.Annotation: fmt.Sprintf("images=%d", demoImages), usage.CapacityAnnotation: fmt.Sprintf("nodefs=%d", demoDisk)}
		nodes = append(nodes, n)
	}
	config := c.on.config
	if c.on.credential != nil {
		var err error
		if config, err = c.on.credential(pki.SimulatedNodes()); err != nil {
			return nil, err
		}
	}
	answer, err := ofCredential(config)
	if err != nil {
		return nil, err
	}
	s, err := playNodes(config, nodes, c.settings, answer)
	if err != nil {
		return nil, err
	}
	s.start(p)
	return nodes, nil
}

// tell says on what is played.
func (c *crew) tell(out io.Writer) {
	if c.why == "" {
		c.tellReal(out)
		return
	}
	fmt.Fprintf(out, "Three simulated nodes (%s): %s, with %dMi of memory and of disk each.\nNo process runs there; what pods use is scripted.\n",
		c.why, strings.Join(c.names, ", "), demoMemory>>20)
}

// options of the demo as far as they follow from the nodes.
func (c *crew) options() demo.Options {
	return demo.Options{Nodes: c.names, Real: c.why == "", Image: store.WorkloadImage, Program: "/workload", Ballast: c.ballast}
}

// remove removes the nodes' objects.
func (c *crew) remove(ctx context.Context) error {
	var errs []error
	for _, name := range c.names {
		for _, err := range []error{c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}),
			c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, name, metav1.DeleteOptions{})} {
			if err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("removing node %s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}
