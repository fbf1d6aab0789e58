package ui

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/ui/simulation"
)

//go:generate make -C .. ui

//go:embed dist
var bundle embed.FS

// Answers has functions that return the JSON output of commands, with the permissions of config's user.
type Answers struct {
	Pod           func(ctx context.Context, config *rest.Config, namespace, name string) ([]byte, error)
	Queue         func(ctx context.Context, config *rest.Config, namespace string) ([]byte, error)
	Displacements func(ctx context.Context, config *rest.Config, namespace string) ([]byte, error)
	// Drain previews the drain of nodes.
	Drain func(ctx context.Context, config *rest.Config, nodes []string, o drain.Options) ([]byte, error)
	Zones func(ctx context.Context, config *rest.Config) ([]byte, error)
	// Descheduler previews a run with at most maxEvictions evictions, or with the limit of the policy if nil.
	Descheduler func(ctx context.Context, config *rest.Config, maxEvictions *int) ([]byte, error)
	// NodePressure and NodeDisk request the reports of a node's agent.
	NodePressure func(ctx context.Context, config *rest.Config, node string) ([]byte, error)
	NodeDisk     func(ctx context.Context, config *rest.Config, node string) ([]byte, error)
	// Simulate runs a simulation and calls send for each state. An error of the scenario is a *script.Error.
	Simulate func(ctx context.Context, config *rest.Config, s SimulationRequest, send func(*simulation.Frame) error) (*simulation.Result, error)
	History  *History // nil if there is no recording
}

// complete reports whether all functions are set.
func (a *Answers) complete() bool {
	return a.Pod != nil && a.Queue != nil && a.Displacements != nil && a.Drain != nil && a.Zones != nil && a.Descheduler != nil && a.NodePressure != nil && a.NodeDisk != nil && a.Simulate != nil
}

// Options configures a Server.
type Options struct {
	// Cluster is the API server and its CA. Its credentials are used only by the session of a one-time link.
	Cluster *rest.Config
	// OneTimeLink selects sign-in by a one-time link. Otherwise users sign in with a bearer token or a client certificate.
	OneTimeLink bool
	// ClientCertificates may be nil: then users sign in with a bearer token only.
	ClientCertificates *ClientCertificates
	Answers            Answers
	// PolicyFile is the name of the descheduler's policy file in commands, or empty for the default policy.
	PolicyFile string
}

// Server serves the page. It is safe for concurrent use.
type Server struct {
	o         Options
	session   *session      // nil without a one-time link
	answering chan struct{} // an element for each answer that is being computed
	reporting chan struct{} // an element for each report that is requested from a node
	streams   *userLimit
	// simulating has an element for each simulation that runs; simulationUsers counts those that run or wait.
	simulating      chan struct{}
	simulationUsers *userLimit
	mux             *http.ServeMux
}

// maxAnswers is the maximum number of answers that are computed concurrently. An answer may evaluate all nodes.
const maxAnswers = 2

// maxReports is the maximum number of concurrent requests for the reports of nodes.
const maxReports = 16

// New returns a server.
func New(o Options) (*Server, error) {
	if o.Cluster == nil || !o.Answers.complete() {
		return nil, errors.New("creating the web page's server: cluster and answers must be set")
	}
	s := &Server{o: o, answering: make(chan struct{}, maxAnswers), reporting: make(chan struct{}, maxReports), mux: http.NewServeMux(),
		streams: newUserLimit(maxUserStreams, maxStreams), simulating: make(chan struct{}, maxSimulations), simulationUsers: newUserLimit(1, maxSimulationRequests)}
	if o.OneTimeLink {
		s.session = newSession()
	}
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ui/", http.StatusFound)
	})
	s.mux.HandleFunc("GET /ui/", s.serveBundle)
	s.mux.HandleFunc("GET /ui/api/sign-in", s.serveSignIn)
	s.mux.HandleFunc("POST /ui/session", s.startSession)
	s.mux.HandleFunc("GET /ui/api/user", s.withCredentials(s.serveUser))
	s.mux.HandleFunc("GET /ui/api/pod", s.withCredentials(s.servePod(o.Answers.Pod)))
	s.mux.HandleFunc("GET /ui/api/queue", s.withCredentials(s.serveNamespace(o.Answers.Queue)))
	s.mux.HandleFunc("GET /ui/api/displacements", s.withCredentials(s.serveNamespace(o.Answers.Displacements)))
	s.mux.HandleFunc("GET /ui/api/drain", s.withCredentials(s.serveDrain(o.Answers.Drain)))
	s.mux.HandleFunc("GET /ui/api/zones", s.withCredentials(s.serveZones(o.Answers.Zones)))
	s.mux.HandleFunc("GET /ui/api/descheduler", s.withCredentials(s.serveDescheduler(o.Answers.Descheduler)))
	s.mux.HandleFunc("GET /ui/api/node/pressure", s.withCredentials(s.serveReport(o.Answers.NodePressure)))
	s.mux.HandleFunc("GET /ui/api/node/disk", s.withCredentials(s.serveReport(o.Answers.NodeDisk)))
	s.mux.HandleFunc("GET /ui/api/fleet", s.withCredentials(s.serveFleet))
	s.mux.HandleFunc("POST /ui/api/simulate", s.withCredentials(s.serveSimulation))
	s.handleHistory(o.Answers.History)
	s.mux.HandleFunc("GET /ui/cluster/", s.withCredentials(s.serveCluster))
	return s, nil
}

// ServeHTTP serves a request if its Host and Origin are allowed.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	// The connection may have the deadline of an earlier answer, which does not apply to a watch.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	if reason := rejectOrigin(r); reason != "" {
		writeError(w, http.StatusForbidden, reason)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Link returns the path of the one-time link, or the path of the page if there is none.
func (s *Server) Link() string {
	if s.session == nil {
		return "/ui/"
	}
	return "/ui/#" + s.session.code
}

// serveBundle serves a file of the bundle. For any other path it serves the page, whose script selects the view.
func (s *Server) serveBundle(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if path.Dir(r.URL.Path) != "/ui" || name == "index.html" {
		name = ""
	}
	if info, err := fs.Stat(bundle, "dist/"+name); name == "" || err != nil || info.IsDir() {
		name = "index.html"
	}
	w.Header().Set("Cache-Control", "no-cache")
	data, err := bundle.ReadFile("dist/" + name)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "reading the embedded page: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	_, _ = w.Write(data)
}

// contentTypes are the content types by extension. Package mime also reads files of the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}
