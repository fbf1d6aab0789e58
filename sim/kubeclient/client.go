package kubeclient

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/endpoints"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/store"
)

// Clients are the clients of one actor. Their methods must be called in a coroutine of the actor's group.
type Clients struct {
	Kubernetes kubernetes.Interface
	Holds      v1alpha1.Client
	Metadata   metadata.Interface
}

// Actor sends requests. *sim.Client implements it.
type Actor interface {
	Name() string
	// Pod returns a pod of the actor's cache, or nil.
	Pod(key string) *corev1.Pod
	// Send sends a request; see sim.Client.
	Send(r *sim.Request)
	// Evict requests an eviction; see sim.Client.
	Evict(namespace string, e *policyv1.Eviction, onResult func(error))
}

// ChangeLogger is an Actor that logs what its requests change.
type ChangeLogger interface {
	// LogChange logs a change. before is nil for a new object, after for a deleted one.
	LogChange(before, after store.Object)
}

// New returns the clients of an actor whose code runs in coroutines of group.
func New(w *sim.World, actor Actor, group *coroutine.Group) Clients {
	c := &client{w: w, actor: actor, group: group, endpoints: map[string]endpoints.Counts{}}
	return Clients{Kubernetes: clientset{c: c}, Holds: holds{c}, Metadata: metadataClient{c}}
}

// client sends the requests of one actor.
type client struct {
	w         *sim.World
	actor     Actor
	group     *coroutine.Group
	endpoints map[string]endpoints.Counts // last logged, by Service
}

// request sends a request and waits for the response. Faults are injected by the request kind and key. A request without
// a response ends at the deadline of ctx.
func (c *client) request(ctx context.Context, r *sim.Request) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Deadline, _ = ctx.Deadline()
	if o := operationOf(ctx); o != nil {
		r.Operation = o.Requests
	}
	c.group.Wait(func(resume func()) {
		r.OnResult = func(e error) {
			err = e
			resume()
		}
		c.actor.Send(r)
	})
	return err
}

// endpoint is a kind in a namespace, or a cluster-scoped kind.
type endpoint struct {
	c         *client
	kind      store.Kind
	namespace string
}
