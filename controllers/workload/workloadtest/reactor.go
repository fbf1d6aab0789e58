package workloadtest

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Reactor handles requests to a fake API with a function that can be replaced at any time. The API itself
// does not allow adding reactors concurrently with requests.
type Reactor struct {
	f atomic.Pointer[clienttesting.ReactionFunc]
}

// Install registers the reactor before all others.
func (r *Reactor) Install(api *fake.Clientset) { api.PrependReactor("*", "*", r.react) }

// Set replaces the function.
func (r *Reactor) Set(f clienttesting.ReactionFunc) { r.f.Store(&f) }

// On replaces the function by f for requests with the verb for the resource itself. It does not handle other requests,
// nor those for subresources.
func (r *Reactor) On(verb, resource string, f clienttesting.ReactionFunc) {
	r.Set(func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !a.Matches(verb, resource) || a.GetSubresource() != "" {
			return false, nil, nil
		}
		return f(a)
	})
}

func (r *Reactor) react(a clienttesting.Action) (bool, runtime.Object, error) {
	if f := r.f.Load(); f != nil {
		return (*f)(a)
	}
	return false, nil, nil
}
