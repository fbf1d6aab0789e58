package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/assumption"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Config configures a Machine.
type Config struct {
	Profiles []profiles.Profile // with unique names
	Queue    queue.Config

	BindTimeout    time.Duration // after which a pod whose Bind has no outcome is refreshed
	ConfirmTimeout time.Duration // after which a bound pod that the watch does not show on its node is refreshed
	RetryInterval  time.Duration // delay before an unanswered effect is retried

	ExtenderTimeout time.Duration // how long a call to extenders may take
	VictimsTimeout  time.Duration // after their grace period, how long the deletion of victims may take

	// AuditInterval is how often one pod of the unschedulable pool is audited; 0: never.
	AuditInterval time.Duration

	// ResizePreemption enables preemption of pods of lower priority for in-place resizes that nodes defer.
	ResizePreemption bool

	// AssumedPressureDuration is how long a node that evicted a pod is assumed to be under that
	// pressure, unless it reports its condition; 0: never.
	AssumedPressureDuration time.Duration
}

// DefaultConfig returns kube-scheduler's queue settings, the events that placement's plugins
// register, default timeouts, and no profile.
func DefaultConfig() Config {
	q := queue.DefaultConfig()
	q.EventsToRegister = plugins.EventsToRegister
	return Config{Queue: q, BindTimeout: 2 * time.Minute, ConfirmTimeout: 30 * time.Second, RetryInterval: 5 * time.Second,
		ExtenderTimeout: 2 * time.Minute, VictimsTimeout: 10 * time.Minute, AuditInterval: 30 * time.Second,
		AssumedPressureDuration: 20 * time.Second}
}

// Machine is the scheduling machine. It is not safe for concurrent use.
type Machine struct {
	cfg         Config
	state       *cluster.State
	queue       *queue.Queue
	keysVersion uint64                       // version of the label keys that distinguish waiting pods
	placers     map[string]profiles.Placer   // by profile name
	profiles    map[string]*profiles.Profile // by name

	nextID           uint64
	attemptsByEffect map[uint64]*attempt // by the ID of the effect in flight
	attempts         map[string]*attempt // by UID
	deadlines        deadlineHeap

	volumeBinds    []*attempt // attempts that wait for volumes, in order of their start
	volumesChanged bool       // an event of this step changed a volume object

	nominations         map[string]*nomination         // by UID
	nominationsByEffect map[uint64]*nomination         // by the ID of the effect in flight
	markedVictims       map[string]markedVictim        // by UID
	preemptionFailures  map[string]*preemptionFailures // by the preemptor's UID

	resizes       map[string]*resize   // deferred resizes by the pod's UID
	resizesByNode map[string][]*resize // deferred resizes by node name
	dueResizes    []*resize            // deferred resizes to evaluate

	reports         map[string]*report // the last report about each pod, by UID, until it is written
	reportsByEffect map[uint64]*report // by the ID of the effect
	reportRetries   []*report          // by time

	assumedPressures []*assumption.Node // in order of creation

	nextAudit time.Time // zero while the unschedulable pool is empty

	effects []Effect
	summary *decision.Summary // for the next decision
	scratch []*model.Pod
}

// New returns a machine with an empty state.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, state: cluster.New(), placers: map[string]profiles.Placer{}, profiles: map[string]*profiles.Profile{},
		attemptsByEffect: map[uint64]*attempt{}, attempts: map[string]*attempt{},
		nominations: map[string]*nomination{}, nominationsByEffect: map[uint64]*nomination{}, markedVictims: map[string]markedVictim{}, preemptionFailures: map[string]*preemptionFailures{},
		resizes: map[string]*resize{}, resizesByNode: map[string][]*resize{},
		reports: map[string]*report{}, reportsByEffect: map[uint64]*report{}, summary: newSummary()}
	for _, p := range cfg.Profiles {
		m.placers[p.Name], m.profiles[p.Name] = p.NewPlacer(m.state), &p
	}
	cfg.Queue.QueueingHints = m.queueingHints
	m.queue = queue.New(cfg.Queue)
	return m
}

// Step applies the events in order and then makes at most limit decisions. The effects are valid
// until the next Step. wake is when to call Step again at the latest. It is now if there is more to
// decide, and zero if only an event can cause work.
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
		if !m.preemptForResize(now) && !m.scheduleOne(now) {
			break
		}
		m.releaseReservations(now)
	}
	return m.effects, m.nextWake(now)
}

// nextWake returns when to call Step again at the latest; zero if only an event can cause work.
func (m *Machine) nextWake(now time.Time) time.Time {
	if len(m.dueResizes) > 0 {
		return now
	}
	wake := order.Earliest(m.queue.NextWakeup(now), m.nextAudit)
	if deadline, ok := m.deadlines.first(); ok {
		wake = order.Earliest(wake, deadline)
	}
	if len(m.reportRetries) > 0 {
		wake = order.Earliest(wake, m.reportRetries[0].retryAt)
	}
	if expiry, ok := m.state.NextHoldExpiry(); ok {
		wake = order.Earliest(wake, expiry)
	}
	for _, p := range m.assumedPressures {
		wake = order.Earliest(wake, p.NextExpiry())
	}
	return wake
}

// State returns the machine's cluster state. It must not be modified; Fork it to keep it beyond the
// next Step.
func (m *Machine) State() *cluster.State { return m.state }

// Depths returns the numbers of pods in the queue's pools.
func (m *Machine) Depths() queue.Depths { return m.queue.Depths() }

// IncomingPods calls f with the number of pods that entered each pool of the queue so far, by cause.
func (m *Machine) IncomingPods(f func(p queue.Pool, c queue.Cause, n uint64)) {
	m.queue.IncomingPods(f)
}

// emit appends an effect with a new ID.
func (m *Machine) emit(e func(id uint64) Effect) uint64 {
	m.nextID++
	m.effects = append(m.effects, e(m.nextID))
	return m.nextID
}
