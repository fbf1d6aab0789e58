package displacement

import (
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
	w.SetEvictionHandler(s.Evict)
	return s
}

// sleep suspends the running eviction.
func (s *Server) sleep(d time.Duration) {
	s.evictions.Wait(func(resume func()) { s.w.After(d, resume) })
}
