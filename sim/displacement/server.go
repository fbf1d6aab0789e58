package displacement

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/kubeclient"
)

// actor is the name of the API server as an actor.
const actor = "apiserver"

// Server is the eviction API. Create it with NewServer.
type Server struct {
	w       *sim.World
	ledger  *budgets.Ledger
	handler *eviction.Handler
	// evictions are the requests that the API server executes.
	evictions coroutine.Group
	displacer displacer.Displacer // writes the records
}

// NewServer returns a server with the options of the eviction API.
func NewServer(w *sim.World, ledger *budgets.Ledger, o eviction.Options) *Server {
	s := &Server{w: w, ledger: ledger, handler: eviction.New(o, w.Converter(), w.Now)}
	client := kubeclient.New(w, w.NewRequester(actor), &s.evictions).Kubernetes
	s.displacer = displacer.Displacer{Client: client, Now: w.Now, Component: "eviction-api", Instance: actor}
	w.OnClose(s.evictions.Kill)
	w.SetEvictionHandler(s.handle)
	return s
}

// EvictionResponse is the response of the API server.
type EvictionResponse struct {
	Code       int // HTTP status; 0: no response in time
	Message    string
	RetryAfter time.Duration
}

// String returns the response in a line.
func (r EvictionResponse) String() string {
	if r.Code == 0 {
		return "no response"
	}
	s := fmt.Sprint(r.Code)
	if r.Message != "" {
		s += " " + r.Message
	}
	if r.RetryAfter > 0 {
		s += fmt.Sprintf(" (retry after %v)", r.RetryAfter)
	}
	return s
}

// InjectedFailure is the message of a response that a fault replaced by an error.
const InjectedFailure = "injected failure"

// Refused is the notice that budgets refused an eviction.
type Refused struct{}

// sleep suspends the running eviction.
func (s *Server) sleep(d time.Duration) {
	s.evictions.Wait(func(resume func()) { s.w.After(d, resume) })
}
