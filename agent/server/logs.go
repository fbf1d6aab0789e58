package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/server/logfile"
)

// logs serves /containerLogs/NAMESPACE/POD/CONTAINER.
func (s *Server) logs(w http.ResponseWriter, r *http.Request, n *Node) {
	request, previous, err := logRequest(r.URL.Query(), time.Now())
	if err != nil {
		writeError(w, err)
		return
	}
	p, err := findPod(r, n, "it has no logs")
	if err != nil {
		writeError(w, err)
		return
	}
	name, _, err := findContainer(r, p)
	if err != nil {
		writeError(w, err)
		return
	}
	id, path, err := findLog(r.Context(), n, p, name, previous)
	if err != nil {
		writeError(w, err)
		return
	}
	out := &flushWriter{w: w, always: request.Follow}
	w.Header().Set("Content-Type", "text/plain")
	if request.Follow {
		_ = http.NewResponseController(w).Flush() // the client receives the header before the first line
	}
	err = logfile.Copy(r.Context(), out, path, request, func(ctx context.Context) (bool, error) { return hasTerminated(ctx, n, id), nil })
	switch {
	case err == nil, r.Context().Err() != nil:
	case out.wrote || request.Follow:
		s.opts.Log.Error(err, "Failed to send a log", "pod", p.Namespace+"/"+p.Name, "container", name)
	case errors.Is(err, os.ErrNotExist):
		writeError(w, newStatusError(http.StatusNotFound, "the log of container %q in pod %q no longer exists", name, p.Name))
	default:
		writeError(w, err)
	}
}

// hasTerminated reports whether a container will write no more. An unreachable runtime may
// recover.
func hasTerminated(ctx context.Context, n *Node, id string) bool {
	c, err := n.Runtime.ContainerStatus(ctx, id)
	if err != nil {
		return status.Code(err) == codes.NotFound
	}
	return c.State == cri.ContainerState_CONTAINER_EXITED
}

// findLog returns the container to read and its log: the newest one, or with previous the one
// before.
func findLog(ctx context.Context, n *Node, p *corev1.Pod, name string, previous bool) (id, path string, err error) {
	attempts, err := listAttempts(ctx, n, p, name)
	if err != nil {
		return "", "", err
	}
	attempts = slices.DeleteFunc(attempts, func(c *cri.Container) bool { return c.State == cri.ContainerState_CONTAINER_CREATED })
	// Between two runs, the terminated container is both the last and the previous one.
	if previous && len(attempts) > 0 && waitingState(p, name) == nil {
		attempts = attempts[1:]
	}
	if len(attempts) == 0 {
		if previous {
			return "", "", newStatusError(http.StatusBadRequest, "previous terminated container %q in pod %q not found", name, p.Name)
		}
		return "", "", newStatusError(http.StatusBadRequest, "container %q in pod %q is waiting to start: %s", name, p.Name, waitingReason(p, name))
	}
	c, err := n.Runtime.ContainerStatus(ctx, attempts[0].Id)
	if err != nil {
		return "", "", err
	}
	return attempts[0].Id, c.LogPath, nil
}

// waitingState returns the state of a waiting container, or nil.
func waitingState(p *corev1.Pod, name string) *corev1.ContainerStateWaiting {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses) {
		if c.Name == name {
			return c.State.Waiting
		}
	}
	return nil
}

func waitingReason(p *corev1.Pod, name string) string {
	state := waitingState(p, name)
	switch {
	case state == nil || state.Reason == "":
		return "no logs yet"
	case state.Reason == "ErrImagePull":
		return "image can't be pulled"
	case state.Reason == "ImagePullBackOff":
		return "trying and failing to pull image"
	}
	return state.Reason
}

// logRequest parses the query of a log request.
func logRequest(query url.Values, now time.Time) (q logfile.Request, previous bool, err error) {
	q = logfile.All()
	parseNumber := func(name string, minimum int64) (int64, bool) {
		if !query.Has(name) || err != nil {
			return 0, false
		}
		v, parseErr := strconv.ParseInt(query.Get(name), 10, 64)
		if parseErr != nil || v < minimum {
			err = newStatusError(http.StatusBadRequest, "%s=%q: must be a number of at least %d", name, query.Get(name), minimum)
		}
		return v, true
	}
	parseBool := func(name string) bool {
		if !query.Has(name) || err != nil {
			return false
		}
		v, parseErr := strconv.ParseBool(query.Get(name))
		if parseErr != nil {
			err = newStatusError(http.StatusBadRequest, "%s=%q: must be true or false", name, query.Get(name))
		}
		return v
	}
	q.Follow, q.Timestamps, previous = parseBool("follow"), parseBool("timestamps"), parseBool("previous")
	if v, ok := parseNumber("tailLines", 0); ok {
		q.Tail = v
	}
	q.Limit, _ = parseNumber("limitBytes", 1)
	if v, ok := parseNumber("sinceSeconds", 1); ok {
		q.Since = now.Add(-time.Duration(v) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" && err == nil {
		if q.Since, err = time.Parse(time.RFC3339, text); err != nil {
			err = newStatusError(http.StatusBadRequest, "sinceTime=%q: must be a time such as 2026-01-02T15:04:05Z", text)
		}
	}
	switch stream := query.Get("stream"); stream {
	case "", corev1.LogStreamAll:
	case corev1.LogStreamStdout:
		q.Stderr = false
	case corev1.LogStreamStderr:
		q.Stdout = false
	default:
		err = cmp.Or(err, newStatusError(http.StatusBadRequest, "stream=%q: must be All, Stdout or Stderr", stream))
	}
	return q, previous, err
}

// flushWriter flushes every write if always is set, and records whether anything was written.
type flushWriter struct {
	w      http.ResponseWriter
	always bool
	wrote  bool
}

func (f *flushWriter) Write(p []byte) (int, error) {
	f.wrote = true
	n, err := f.w.Write(p)
	if err == nil && f.always {
		err = http.NewResponseController(f.w).Flush()
	}
	return n, err
}
