package displacement

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// EvictionRequest is a request to evict a pod.
type EvictionRequest struct {
	Pod       string // namespace/name
	UID       string // required UID; empty: any
	Requester string
	Rule      string // rule of the requester; may be empty
	Grace     *int64 // nil: the pod's own
	DryRun    bool
}

// noResponseTimeout is how long a client waits for the response to an eviction.
const noResponseTimeout = 10 * time.Second

// errNoResponse is the error of an eviction whose response is lost.
var errNoResponse = errors.New("no response in time")

// handle is the handler of evictions that clients request (sim.EvictionHandler).
func (s *Server) handle(actor, namespace string, e *policyv1.Eviction, respond func(error)) {
	r := EvictionRequest{Pod: store.Key(namespace, e.Name), Requester: actor, Rule: e.Annotations["berth.dev/reason"]}
	if o := e.DeleteOptions; o != nil {
		r.Grace, r.DryRun = o.GracePeriodSeconds, len(o.DryRun) > 0
		if o.Preconditions != nil && o.Preconditions.UID != nil {
			r.UID = string(*o.Preconditions.UID)
		}
	}
	s.send(r, respond)
}

// Evict sends an eviction request and passes the response to onResponse. If a fault loses the response, onResponse
// receives an empty one after noResponseTimeout.
func (s *Server) Evict(r EvictionRequest, onResponse func(EvictionResponse)) {
	s.send(r, func(err error) { onResponse(responseOf(err)) })
}

// send sends an eviction request and passes the error of the response to onResponse.
func (s *Server) send(r EvictionRequest, onResponse func(error)) {
	w := s.w
	fault, after := w.Faults().OfRequest(sim.RequestEvict, r.Pod)
	w.LogFault(fault, sim.RequestEvict, cmp.Or(r.Requester, "a client"), r.Pod)
	respond, onLost := onResponse, func() { w.After(noResponseTimeout, func() { onResponse(errNoResponse) }) }
	writes := -1 // number of writes before the server fails; negative: it does not fail
	switch fault {
	case sim.Refuse, sim.Conflict:
		w.After(2*w.Latency(), func() { onResponse(errors.New(InjectedFailure)) })
		return
	case sim.RequestLost:
		onLost()
		return
	case sim.ResponseLost, sim.NeverAnswered, sim.Delayed:
		respond = func(error) { onLost() }
	case sim.Partial:
		if writes = after; writes == 0 {
			writes = 1 + int(w.Faults().Hash("evict/cut/"+r.Pod)%4)
		}
		respond = func(error) {}
		onLost()
	case sim.NoFault:
	}
	w.After(w.Latency(), func() {
		s.evictions.Go(r.Pod, func() {
			response := s.evict(r, writes)
			s.sleep(w.Latency())
			respond(response)
		})
	})
}

// evict executes a request as the API server does. writes is the number of writes after which the server fails;
// negative: it does not fail.
func (s *Server) evict(r EvictionRequest, writes int) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(r.Pod)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	o := &metav1.DeleteOptions{GracePeriodSeconds: r.Grace}
	if uid := types.UID(r.UID); uid != "" {
		o.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	requested := eviction.Request{Namespace: namespace, Name: name, Options: o, DryRun: r.DryRun, RequestedBy: r.Requester, Reason: r.Rule}
	err = s.handler.Evict(context.Background(), &evictionStore{Server: s, request: &r, remainingWrites: writes}, requested)
	if apierrors.IsTooManyRequests(err) {
		s.w.Notify(Refused{})
	}
	return err
}

// responseOf returns the response to an eviction that ended with err; nil means success. If a budget refuses the
// eviction, the message is the budget's reason alone.
func responseOf(err error) EvictionResponse {
	switch {
	case err == nil:
		return EvictionResponse{Code: http.StatusCreated}
	case errors.Is(err, errNoResponse):
		return EvictionResponse{}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return EvictionResponse{Code: http.StatusInternalServerError, Message: err.Error()}
	}
	s := status.Status()
	response := EvictionResponse{Code: int(s.Code), Message: err.Error()}
	if s.Details != nil {
		response.RetryAfter = time.Duration(s.Details.RetryAfterSeconds) * time.Second
		for _, cause := range s.Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				response.Message = cause.Message
			}
		}
	}
	return response
}
