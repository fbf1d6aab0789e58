package displacement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// noResponseTimeout is how long a client waits for the response to an eviction.
const noResponseTimeout = 10 * time.Second

// Errors of evictions that are due to faults.
var (
	ErrNoResponse = errors.New("no response in time")
	ErrInjected   = errors.New("injected failure")
)

// Refused is the notice that budgets refused an eviction.
type Refused struct{}

// Evict requests an eviction and passes the error of the response to respond. If a fault loses the response, the error is
// ErrNoResponse. Evict is the sim.EvictionHandler of the world.
func (s *Server) Evict(requester, namespace string, e *policyv1.Eviction, respond func(error)) {
	r := eviction.Request{Namespace: namespace, Name: e.Name, Options: e.DeleteOptions, RequestedBy: requester, Reason: e.Annotations["berth.dev/reason"]}
	if r.Options == nil {
		r.Options = &metav1.DeleteOptions{}
	}
	r.DryRun = len(r.Options.DryRun) > 0
	w, pod := s.w, store.Key(namespace, e.Name)
	fault, after := w.Faults().OfRequest(sim.RequestEvict, pod)
	w.LogFault(fault, sim.RequestEvict, cmp.Or(requester, "a client"), pod)
	onResponse, onLost := respond, func() { w.After(noResponseTimeout, func() { respond(ErrNoResponse) }) }
	writes := -1 // number of writes before the server fails; negative: it does not fail
	switch fault {
	case sim.Refuse, sim.Conflict:
		w.After(2*w.Latency(), func() { respond(ErrInjected) })
		return
	case sim.RequestLost:
		onLost()
		return
	case sim.ResponseLost, sim.NeverAnswered, sim.Delayed:
		onResponse = func(error) { onLost() }
	case sim.Partial:
		if writes = after; writes == 0 {
			writes = 1 + int(w.Faults().Hash("evict/cut/"+pod)%4)
		}
		onResponse = func(error) {}
		onLost()
	case sim.NoFault:
	}
	w.After(w.Latency(), func() {
		s.evictions.Go(pod, func() {
			err := s.handler.Evict(context.Background(), &evictionStore{Server: s, request: &r, remainingWrites: writes}, r)
			if apierrors.IsTooManyRequests(err) {
				w.Notify(Refused{})
			}
			s.sleep(w.Latency())
			onResponse(err)
		})
	})
}

// DescribeResponse returns the response to an eviction that ended with err, in a line. If a budget refuses the eviction,
// the message is the budget's reason alone.
func DescribeResponse(err error) string {
	switch {
	case err == nil:
		return fmt.Sprint(http.StatusCreated)
	case errors.Is(err, ErrNoResponse):
		return "no response"
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Sprint(http.StatusInternalServerError, " ", err)
	}
	s, message, retryAfter := status.Status(), err.Error(), ""
	if d := s.Details; d != nil {
		if i := slices.IndexFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == policyv1.DisruptionBudgetCause }); i >= 0 {
			message = d.Causes[i].Message
		}
		if d.RetryAfterSeconds > 0 {
			retryAfter = fmt.Sprintf(" (retry after %v)", time.Duration(d.RetryAfterSeconds)*time.Second)
		}
	}
	return fmt.Sprint(s.Code, " ", message, retryAfter)
}
