package ui

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/ui/fleet"
)

// fleetInterval is the minimum time between two events of a stream of the fleet.
const fleetInterval = 250 * time.Millisecond

// serveFleet streams the nodes and pods that the user may read: the event changes has a fleet.Update.
func (s *Server) serveFleet(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace := r.URL.Query().Get("namespace")
	if errs := validation.IsDNS1123Label(namespace); namespace != "" && len(errs) > 0 {
		writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(errs, "; "))
		return
	}
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	s.withStream(w, r, config, func(ctx context.Context, e *events) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := fleet.Follow(ctx, client, namespace)
		defer f.Wait()
		defer cancel() // before Wait
		heartbeat := time.NewTicker(heartbeatInterval)
		defer heartbeat.Stop()
		for {
			select {
			case <-f.Changed:
				update, more := f.Take()
				if e.sendJSON("changes", update) != nil || update.Unauthorized {
					return
				}
				if !more && !pause(ctx, e, fleetInterval) {
					return
				}
			case <-heartbeat.C:
				if e.heartbeat() != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
}
