package workloadtest

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Reactor answers requests to a fake API as a test says that is under way: the API itself takes no new
// reactor safely once it is asked.
type Reactor struct {
	f atomic.Pointer[clienttesting.ReactionFunc]
}

// Install has it asked before all reactors that are there.
func (r *Reactor) Install(api *fake.Clientset) { api.PrependReactor("*", "*", r.react) }

// Set has requests answered by f from now on.
func (r *Reactor) Set(f clienttesting.ReactionFunc) { r.f.Store(&f) }

// On has requests of a verb for a resource answered by f from now on, and no others.
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
