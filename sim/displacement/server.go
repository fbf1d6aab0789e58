package displacement

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/budgets"
)

// Options are the rules of the eviction API.
type Options struct {
	Evictions budget.Evictions
	// KeepFailedDebits keeps the debits of an eviction that failed.
	KeepFailedDebits bool
}

// Server performs displacements: the eviction API, and the requests of actors that displace pods.
type Server struct {
	w      *sim.World
	ledger *budgets.Ledger
	o      Options
}

// NewServer returns a server.
func NewServer(w *sim.World, ledger *budgets.Ledger, o Options) *Server {
	return &Server{w: w, ledger: ledger, o: o}
}

// EvictionRequest is a request to evict a pod.
type EvictionRequest struct {
	Pod       string // namespace/name
	UID       string // required UID; empty: any
	Requester string
	Rule      string // rule of the requester; may be empty
	Grace     *int64 // nil: the pod's own
	DryRun    bool
}

// EvictionResponse is the response of the API server.
type EvictionResponse struct {
	Code       int // HTTP status; 0: no response in time
	Message    string
	RetryAfter time.Duration
}

// String returns the response in a line.
func (a EvictionResponse) String() string {
	if a.Code == 0 {
		return "no response"
	}
	s := fmt.Sprint(a.Code)
	if a.Message != "" {
		s += " " + a.Message
	}
	if a.RetryAfter > 0 {
		s += fmt.Sprintf(" (retry after %v)", a.RetryAfter)
	}
	return s
}

// InjectedFailure is the message of a response that a fault replaced by an error.
const InjectedFailure = "injected failure"

// Refused is the notice that budgets refused an eviction.
type Refused struct{}

// Evict sends an eviction request and passes the response to onResponse unless a fault loses it.
func (s *Server) Evict(e EvictionRequest, onResponse func(EvictionResponse)) {
	w := s.w
	r := &eviction{Server: s, request: e, remainingSteps: -1, onResponse: onResponse}
	fault, after := w.Faults().OfRequest(sim.RequestEvict, e.Pod)
	w.LogFault(fault, sim.RequestEvict, cmp.Or(e.Requester, "a client"), e.Pod)
	onLost := func() { w.After(10*time.Second, func() { onResponse(EvictionResponse{}) }) }
	switch fault {
	case sim.Refuse, sim.Conflict:
		w.After(2*w.Latency(), func() { onResponse(EvictionResponse{Code: http.StatusInternalServerError, Message: InjectedFailure}) })
		return
	case sim.RequestLost:
		onLost()
		return
	case sim.ResponseLost, sim.NeverAnswered, sim.Delayed:
		r.onResponse = func(EvictionResponse) { onLost() }
	case sim.Partial: // the server fails in the middle
		if r.remainingSteps = after; r.remainingSteps == 0 {
			r.remainingSteps = 1 + int(w.Faults().Hash("evict/cut/"+e.Pod)%4)
		}
		r.onResponse = func(EvictionResponse) {}
		onLost()
	case sim.NoFault:
	}
	w.After(w.Latency(), r.checkBudgets)
}
