package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/queue"
)

// Placer decides for one profile on the state that it was made for.
type Placer interface {
	// Gate says why a pod is held back before the queue; nil when it is not.
	Gate(pod *model.Pod) *decision.Verdict
	// Decide fills out with the choice for pod, or the reasons why there is none.
	Decide(pod *model.Pod, out *decision.Summary)
	// Preempt says whose leaving would make room for a pod that was found
	// Infeasible, sum being what Decide left behind. Nil: nothing was tried.
	Preempt(pod *model.Pod, sum *decision.Summary) *decision.Preemption
	// VolumePlan is what must happen to the pod's claims before it can be bound to the
	// node that was chosen; nil when there is nothing to do.
	VolumePlan(pod *model.Pod, node string) (*model.VolumePlan, error)
}

// Config is the machine's policy.
type Config struct {
	Profiles []Profile // names are unique
	Queue    queue.Config

	BindTimeout    time.Duration // a bind without an outcome is looked at after this
	ConfirmTimeout time.Duration // a bound pod not seen on its node is looked at after this
	RetryInterval  time.Duration // what had no answer is asked again after this

	ExtenderTimeout time.Duration // extenders that have not answered within this have failed
	VictimsTimeout  time.Duration // a pod whose victims are not gone within their grace and this chooses anew

	// AuditInterval is how often one waiting pod, in turn, is checked to have no node
	// still; 0: never.
	AuditInterval time.Duration

	// AssumedPressureDuration is how long a node that has just thrown a pod out is taken to be
	// under that pressure, unless it says something newer itself; 0: never.
	AssumedPressureDuration time.Duration
}

// DefaultConfig has kube-scheduler's queue, placement's table of who wakes whom, and
// no profile.
func DefaultConfig() Config {
	q := queue.DefaultConfig()
	q.EventsToRegister = placement.EventsToRegister
	return Config{Queue: q, BindTimeout: 2 * time.Minute, ConfirmTimeout: 30 * time.Second, RetryInterval: 5 * time.Second,
		ExtenderTimeout: 2 * time.Minute, VictimsTimeout: 10 * time.Minute, AuditInterval: 30 * time.Second,
		AssumedPressureDuration: 20 * time.Second}
}

// Machine is the scheduling machine. It is a plain value of its owner: one
// caller at a time.
type Machine struct {
	cfg         Config
	state       *cluster.State
	queue       *queue.Queue
	keysVersion uint64              // the version of what makes waiting pods equal
	placers     map[string]Placer   // by profile name
	profiles    map[string]*Profile // by name

	nextID           uint64
	attemptsByEffect map[uint64]*attempt // by the id of the effect that is awaited
	attempts         map[string]*attempt // by uid
	deadlines        deadlines

	volumeBinds    []*attempt // those that wait for volumes, in the order in which they began
	volumesChanged bool       // something about volumes changed in this step

	nominations         map[string]*nomination  // by uid
	nominationsByEffect map[uint64]*nomination  // by the id of the effect that is awaited
	markedVictims       map[string]markedVictim // victims, by uid
	failedNodes         map[string]*failedNodes // by the uid of who has forsaken nodes

	reports         map[string]*report // the last about each pod, by uid, until it is written
	reportsByEffect map[uint64]*report // by the id of the effect
	reportRetries   []*report          // by time

	assumedPressures []*assumedPressure // nodes, in the order in which they came to be

	nextAudit time.Time // when a waiting pod is checked next; zero while nobody waits

	effects []Effect
	summary *decision.Summary // for the next decision
	scratch []*model.Pod
}

// New makes a machine that knows of nothing yet.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, state: cluster.New(), placers: map[string]Placer{}, profiles: map[string]*Profile{},
		attemptsByEffect: map[uint64]*attempt{}, attempts: map[string]*attempt{},
		nominations: map[string]*nomination{}, nominationsByEffect: map[uint64]*nomination{}, markedVictims: map[string]markedVictim{}, failedNodes: map[string]*failedNodes{},
		reports: map[string]*report{}, reportsByEffect: map[uint64]*report{}, summary: newSummary()}
	for _, p := range cfg.Profiles {
		m.placers[p.Name], m.profiles[p.Name] = p.NewPlacer(m.state), &p
	}
	cfg.Queue.QueueingHints = m.waitingKind
	m.queue = queue.New(cfg.Queue)
	return m
}

// Step takes in events, in their order, and then makes at most limit decisions. The
// effects are valid until the next Step. Wake is when to call again at the latest: now
// when there is more to decide, zero when only an event can bring something to do.
func (m *Machine) Step(now time.Time, events []Event, limit int) (effects []Effect, wake time.Time) {
	clear(m.effects)
	m.effects = m.effects[:0]
	for _, e := range events {
		m.handleEvent(now, e)
	}
	m.expireHolds(now)
	m.expirePressure(now)
	m.releaseReservations(now)
	m.checkAllVolumes(now)
	m.handleDeadlines(now)
	m.resendReports(now)
	m.audit(now)
	for range limit {
		if !m.scheduleOne(now) {
			break
		}
		m.releaseReservations(now)
	}
	return m.effects, m.nextWake(now)
}

func (m *Machine) nextWake(now time.Time) time.Time {
	w := m.queue.NextWakeup(now)
	if at, ok := m.deadlines.first(); ok && (w.IsZero() || at.Before(w)) {
		w = at
	}
	if len(m.reportRetries) > 0 && (w.IsZero() || m.reportRetries[0].retryAt.Before(w)) {
		w = m.reportRetries[0].retryAt
	}
	if at, ok := m.state.NextHoldEnd(); ok && (w.IsZero() || at.Before(w)) {
		w = at
	}
	for _, p := range m.assumedPressures {
		if at := p.nextExpiry(); w.IsZero() || at.Before(w) {
			w = at
		}
	}
	if at := m.nextAudit; !at.IsZero() && (w.IsZero() || at.Before(w)) {
		w = at
	}
	return w
}

// State is what the machine knows of the cluster. It must not be changed; take
// a Fork for anything that outlives the next Step.
func (m *Machine) State() *cluster.State { return m.state }

// Depths are the numbers of waiting pods.
func (m *Machine) Depths() queue.Depths { return m.queue.Depths() }

// Arrivals calls f with how many pods came into each pool of the queue, and why.
func (m *Machine) Arrivals(f func(p queue.Pool, c queue.Cause, n uint64)) { m.queue.IncomingPods(f) }

// emit appends an effect made with a fresh id.
func (m *Machine) emit(e func(id uint64) Effect) uint64 {
	m.nextID++
	m.effects = append(m.effects, e(m.nextID))
	return m.nextID
}
