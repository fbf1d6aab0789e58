package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/ui/simulation"
)

// SimulationRequest is the request of a user to run a scenario.
type SimulationRequest struct {
	Scenario string  `json:"scenario"`
	Dump     string  `json:"dump"`    // output of kubectl get: the cluster at the start
	Cluster  bool    `json:"cluster"` // start with the objects of the cluster that the user may read
	Seed     *uint64 `json:"seed"`    // nil: the configured one
}

const (
	// maxSimulationBody is the maximum size of a request, in bytes; maxScenario that of its scenario.
	maxSimulationBody = 8 << 20
	maxScenario       = 64 << 10
	// maxSimulations is the maximum number of concurrent simulations. A user may run one at a time.
	maxSimulations = 1
	// maxSimulationRequests is the maximum number of users that run a simulation or wait for their turn. The last one waits
	// for seven simulations, each of which has a maximum duration.
	maxSimulationRequests = 8
	// simulationEndWait is how long a request waits for the end of the user's previous one, whose client has disconnected.
	simulationEndWait = time.Second
	// bodyTimeout bounds the time in which a client sends a request.
	bodyTimeout = 20 * time.Second
)

// serveSimulation runs a scenario and sends its states as events: frame, and at the end result or failure.
func (s *Server) serveSimulation(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	user, err := userOf(r.Context(), config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	release := s.simulationUsers.acquireWithin(r.Context(), user.Username, simulationEndWait)
	if release == nil {
		writeError(w, http.StatusTooManyRequests, "another simulation of this user is running, or too many users wait for one: try again when it has ended")
		return
	}
	defer release()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // the response writers of tests do not support it
	var request SimulationRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSimulationBody)).Decode(&request); err != nil {
		writeError(w, http.StatusBadRequest, "decoding the request: "+err.Error())
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if len(request.Scenario) > maxScenario {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("scenario: %d bytes: must have at most %d", len(request.Scenario), maxScenario))
		return
	}
	e := startEvents(w)
	end := s.waitTurn(r.Context(), e)
	if end == nil {
		return
	}
	defer end()
	result, err := s.o.Answers.Simulate(r.Context(), config, request, func(f *simulation.Frame) error { return e.sendJSON("frame", f) })
	if err != nil {
		f := failureOf(err)
		f.Line = simulation.ErrorLine(err)
		if simulation.IsUserError(err) {
			f.Code = http.StatusUnprocessableEntity
		}
		_ = e.sendJSON("failure", f) // fails only if the client has disconnected
		return
	}
	_ = e.sendJSON("result", result)
}

// waitTurn blocks until the user may simulate, and returns a function that ends the turn. Users have turns in the order of
// their requests. A user that sends one request after another therefore delays each waiting user by at most one simulation.
// waitTurn returns nil if the client disconnects.
func (s *Server) waitTurn(ctx context.Context, e *events) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	turn := make(chan struct{})
	go func() { // one send for the whole time, because a channel serves its senders in order
		select {
		case s.simulating <- struct{}{}:
		case <-ctx.Done():
			return
		}
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			<-s.simulating
		}
	}()
	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	for {
		select {
		case <-turn:
			return func() { <-s.simulating }
		case <-heartbeat.C:
			if e.heartbeat() != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}
