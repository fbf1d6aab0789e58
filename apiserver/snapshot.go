package apiserver

import (
	"io"
	"net/http"

	"k8s.io/klog/v2"
)

// SnapshotPath is the path of a snapshot of the store in etcd's format. Members of system:masters, and users with a role
// for this non-resource URL, may read it.
const SnapshotPath = "/berth/snapshot"

// serveSnapshot serves SnapshotPath. The snapshot ends with its SHA-256, so a client detects an
// incomplete response.
func (s *Server) serveSnapshot() {
	s.generic.Handler.NonGoRestfulMux.HandleFunc(SnapshotPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, r.Method+": must be GET", http.StatusMethodNotAllowed)
			return
		}
		snapshot, err := s.backend.Snapshot(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer snapshot.Close()
		w.Header().Set("Content-Type", "application/octet-stream")
		if _, err := io.Copy(w, snapshot); err != nil {
			klog.ErrorS(err, "Failed to send a snapshot of the store", "client", r.RemoteAddr)
			panic(http.ErrAbortHandler)
		}
	})
}
