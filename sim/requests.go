package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/sim/store"
)

// Request is an actor's request to the API server.
type Request struct {
	Kind, Key string // request kind and object, for faults
	// ObjectKind is the kind of the object. Only clients of sim/kubeclient set it.
	ObjectKind store.Kind
	IsRead     bool
	// Deadline is when the sender stops waiting for a response; zero: never.
	Deadline time.Time
	Execute  func() error
	OnResult func(error) // receives the error of the response; may be nil
	// Operation is the operation that the request is part of; may be nil.
	Operation *Operation

	settled bool
}

// IsSettled reports whether the request was executed or never will be.
func (r *Request) IsSettled() bool { return r.settled }

// Operation is a sequence of requests. From a request with the fault Partial on, the API server executes only a number of
// writes. The response of the last one is lost, and so are all later requests.
type Operation struct {
	partial bool
	writes  int // remaining writes to execute, if partial
}

// Send sends a request. The seed decides whether a request in flight is executed when the actor is killed.
func (c *Client) Send(r *Request) {
	generation := c.generation
	c.requests++
	if c.killAtRequest(r) {
		return
	}
	fault := c.faultOf(r)
	onResult := r.OnResult
	if unanswered := fault == NeverAnswered || fault == Delayed; unanswered && !r.Deadline.IsZero() {
		onResult = nil
		c.AtTime(r.Deadline, func() { r.OnResult(context.DeadlineExceeded) })
	}
	c.w.After(c.w.o.Latency, func() {
		if c.generation != generation && c.w.faults.Hash("cut/"+c.name+"/"+r.Key)%2 == 0 {
			r.settled = true
			return
		}
		err := c.perform(fault, r)
		c.w.After(c.w.o.Latency, func() {
			if c.generation == generation && onResult != nil {
				onResult(err)
			}
		})
	})
}

// faultOf returns the fault of a request and logs it.
func (c *Client) faultOf(r *Request) Fault {
	o := r.Operation
	if o == nil || !o.partial {
		fault, after := c.w.faults.OfRequest(r.Kind, r.Key)
		c.w.LogFault(fault, r.Kind, c.name, r.Key)
		if o == nil || fault != Partial {
			return fault
		}
		if o.partial, o.writes = true, after; after == 0 {
			o.writes = 1 + int(c.w.faults.Hash("partial/"+r.Key)%maxPartialWrites)
		}
	}
	switch {
	case o.writes == 0:
		return RequestLost
	case r.IsRead:
		return NoFault
	}
	if o.writes--; o.writes == 0 {
		return ResponseLost
	}
	return NoFault
}

// maxPartialWrites is the largest number of writes that a random fault Partial executes.
const maxPartialWrites = 6

// EvictionHandler is the API server's handler of evictions. It passes the error of the response to respond. It injects
// the faults of the request, including its latency.
type EvictionHandler func(actor, namespace string, e *policyv1.Eviction, respond func(error))

// SetEvictionHandler sets the handler of the evictions that actors request with Evict.
func (w *World) SetEvictionHandler(h EvictionHandler) { w.evictions = h }

// Evict requests an eviction.
func (c *Client) Evict(namespace string, e *policyv1.Eviction, onResult func(error)) {
	generation := c.generation
	c.requests++
	if c.killAtRequest(&Request{Execute: func() error {
		c.w.evictions(c.name, namespace, e, func(error) {})
		return nil
	}}) {
		return
	}
	c.w.evictions(c.name, namespace, e, func(err error) {
		if c.generation == generation {
			onResult(err)
		}
	})
}

// perform executes a request with a fault and returns the error that the sender receives. If a delayed request has a
// deadline, it may be executed before or after the deadline.
func (c *Client) perform(fault Fault, r *Request) error {
	if fault == Delayed {
		limit := maxRequestDelay
		if !r.Deadline.IsZero() {
			limit = max(limit, 2*r.Deadline.Sub(c.w.now))
		}
		generation := c.generation
		c.w.After(c.w.faults.RequestDelay(c.name+"/"+r.Key, limit), func() {
			if r.Kind == RequestBind && c.generation != generation {
				return // the next scheduler does not count the bind, and could place too many pods on the node
			}
			_ = c.execute(r)
		})
		return errTimeout
	}
	err := PerformWrite(fault, r.Key, func() error { return c.execute(r) })
	r.settled = true
	return err
}

// execute executes a request at the API server.
func (c *Client) execute(r *Request) error {
	r.settled = true
	return c.w.As(c.name, r.Execute)
}

// As executes a write of an actor.
func (w *World) As(actor string, write func() error) error {
	previous := w.requester
	w.requester = actor
	defer func() { w.requester = previous }()
	return write()
}

// Requester returns the name of the actor whose write is being executed, or "".
func (w *World) Requester() string { return w.requester }

// PerformWrite executes a write with a fault and returns the error. It executes a Delayed write at once.
func PerformWrite(fault Fault, key string, execute func() error) error {
	switch fault {
	case NoFault:
		return execute()
	case Refuse:
		return apierrors.NewTooManyRequests("injected failure", 0)
	case Conflict:
		return apierrors.NewConflict(corev1.Resource("objects"), key, errInjectedConflict)
	case ResponseLost, NeverAnswered, Delayed, Partial:
		_ = execute()
	case RequestLost:
	}
	return errTimeout
}

// maxRequestDelay is the longest delay of a delayed request.
const maxRequestDelay = 20 * time.Second

// Errors of injected faults.
var (
	errInjectedConflict = errors.New("injected conflict")
	errTimeout          = errors.New("request timed out")
)

// Kinds of requests that faults can be injected into. Random faults depend on a hash of these values,
// and recorded journals contain them, so the values must not change. Scenarios and timelines use the
// names of requestKindAliases.
const (
	RequestBind             = "bind"
	RequestUnschedulable    = "reject"
	RequestHold             = "hold" // a gated pod or a Hold
	RequestRefresh          = "look"
	RequestPreempt          = "preempt"
	RequestClearNomination  = "unnominate"
	RequestBindVolumes      = "prepare"
	RequestEvict            = "evict"
	RequestBudgetEntry      = "book"
	RequestDisruptionTarget = "mark"
	RequestEvent            = "tell"
	RequestDelete           = "delete"
	RequestStatus           = "status"
	RequestResetTarget      = "reset"
	RequestNode             = "node"
	RequestPodNotReady      = "unready"

	// Requests of the workload controllers. Updates of ReplicaSets are of kind scale, all other ones of kind update.
	RequestGet       = "get"
	RequestCreate    = "create"
	RequestUpdate    = "update"
	RequestScale     = "scale"
	RequestSetStatus = "setstatus"
	RequestPatch     = "patch"
)

var requestKinds = []string{RequestBind, RequestUnschedulable, RequestHold, RequestRefresh, RequestPreempt, RequestClearNomination, RequestBindVolumes, RequestEvict,
	RequestBudgetEntry, RequestDisruptionTarget, RequestEvent, RequestDelete, RequestStatus, RequestResetTarget, RequestNode, RequestPodNotReady,
	RequestGet, RequestCreate, RequestUpdate, RequestScale, RequestSetStatus, RequestPatch}

// requestKindAliases maps the names of request kinds in scenarios and timelines to request kinds.
var requestKindAliases = map[string]string{"unschedulable": RequestUnschedulable, "gate": RequestHold, "refresh": RequestRefresh, "clearnomination": RequestClearNomination,
	"bindvolumes": RequestBindVolumes, "budgetentry": RequestBudgetEntry, "disruptiontarget": RequestDisruptionTarget, "event": RequestEvent, "resettarget": RequestResetTarget,
	"podnotready": RequestPodNotReady}

// ParseRequestKind returns the request kind for a name used in scenarios; other names are returned unchanged.
func ParseRequestKind(name string) string {
	if kind, ok := requestKindAliases[name]; ok {
		return kind
	}
	return name
}

// requestKindName returns the name of a request kind in scenarios and timelines.
func requestKindName(kind string) string {
	for name, k := range requestKindAliases {
		if k == kind {
			return name
		}
	}
	return kind
}

// RequestKindNames returns the names of the request kinds in scenarios.
func RequestKindNames() []string {
	out := make([]string, 0, len(requestKinds))
	for _, kind := range requestKinds {
		out = append(out, requestKindName(kind))
	}
	return out
}

// IsRequestKind reports whether name is a request kind or "any".
func IsRequestKind(name string) bool { return name == "any" || slices.Contains(requestKinds, name) }

// Requested is the notice that an actor sends a request of a kind about an object. Fault is the injected fault, or
// NoFault.
type Requested struct {
	Actor, Kind, Object string
	Fault               Fault
}

// LogFault sends the notice Requested for a request of an actor and logs its fault, unless that is NoFault. In the
// scheduler's requests, RequestHold is about a gated pod; in those of other actors it is about a Hold.
func (w *World) LogFault(f Fault, kind, actor, object string) {
	w.Notify(Requested{actor, kind, object, f})
	if f == NoFault {
		return
	}
	name := kind
	if kind != RequestHold || actor == "scheduler" {
		name = requestKindName(kind)
	}
	w.Log("fault", f.String(), object, "the "+name+" request of "+actor+" "+faultText[f])
}

var faultText = [numFaults]string{"succeeds", "is refused", "conflicts", "is lost", "is executed, but its response is lost", "is executed late, without a response",
	"is executed and never gets a response", "is executed partially, without a response"}
