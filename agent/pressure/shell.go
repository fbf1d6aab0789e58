package pressure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/intake"
)

// Shell watches a node for what it runs short of. It is an agent.Pressure.
// Make it with New, start it with Run.
type Shell struct {
	opts    Options
	figures *stats.Machine
	started time.Time
	intake  *intake.Intake

	// mu guards what the agent asks for while the loop runs.
	mu      sync.Mutex
	machine *pressure.Machine
	reserve *pressure.Reserve
	dying   map[types.UID]dying
	// What goes on in the background, and how it ended.
	measuring, collected bool
	measured             int // how often it was done
	faults               map[string]string

	agent Agent
	watch watch
	// Of the loop alone.
	obs        pressure.Observation
	memory     cgroup.Memory
	hidden     int64 // page cache that the kernel has not counted yet
	pods       cgroup.Memory
	stall      cgroup.Stall
	list       []*corev1.Pod
	needs      needs
	disks      [pressure.NumSignals]*stats.Disk
	given      [pressure.NumSignals]time.Time
	checked    int                           // measurements whose limits were checked
	known      int                           // measurements that disks may be decided on
	low        bool                          // a disk was low at the last look
	unable     [model.NumPressures]time.Time // there is nobody to end until then
	lastLook   time.Time
	lastKilled time.Time
	lastTended time.Time
	// due asks for a measurement at once.
	due                      bool
	lastMeasure, lastPrepare time.Time
	limited                  atomic.Bool // some pod has a limit of local storage
}

// dying is a pod that is being ended.
type dying struct {
	by     time.Time // end of its grace
	cgroup string    // to be killed, "" when it is left to the agent
}

// New opens what is watched. Close it, or let Run do so.
func New(o Options) (*Shell, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Shell{opts: o, started: time.Now(), intake: intake.New(), dying: map[types.UID]dying{}, faults: map[string]string{}, machine: pressure.New(o.Config)}
	var err error
	if s.reserve, err = pressure.NewReserve(o.Reserve, s.reserved); err != nil {
		return nil, err
	}
	if s.figures, err = stats.OpenMachine(o.Host, o.Cgroup, o.Pods); err != nil {
		return nil, err
	}
	if err := s.watch.open(); err != nil {
		s.figures.Close()
		return nil, err
	}
	s.disks = [pressure.NumSignals]*stats.Disk{
		pressure.NodeFsAvailable: o.NodeFs, pressure.NodeFsInodesFree: o.NodeFs, pressure.ImageFsAvailable: o.ImageFs,
		pressure.ImageFsInodesFree: o.ImageFs, pressure.ContainerFsAvailable: o.ContainerFs, pressure.ContainerFsInodesFree: o.ContainerFs,
	}
	s.needs.of(s.machine.Thresholds())
	s.obs.Pods = s.observePods
	s.setAlarm()
	return s, nil
}

// reserved is what a file system has, for the reserve.
func (s *Shell) reserved(f pressure.Filesystem) (pressure.Figure, error) {
	d := s.opts.ImageFs
	if f == pressure.RootFs || d == nil {
		d = s.opts.NodeFs
	}
	if d == nil {
		return pressure.Figure{}, errors.New("it is not known where it is")
	}
	u, err := d.Usage(time.Now())
	return pressure.Figure{Capacity: u.Capacity, Available: u.Available}, err
}

// Run watches until ctx ends. What is to be ended is told to a.
func (s *Shell) Run(ctx context.Context, a Agent) error {
	s.agent = a
	var wg sync.WaitGroup
	defer s.close()
	defer wg.Wait()
	stop := context.AfterFunc(ctx, s.watch.wake)
	defer stop()
	s.opts.Log.Info("Watching the node", "memory", s.Path(), "processes", "every 10 ms near a threshold, else every second", "disks", "statfs, every 2 s")
	wg.Go(func() {
		// A thread of its own, ahead of the pods where the machine lets us; it ends with the goroutine.
		runtime.LockOSThread()
		urgent()
		next := time.Duration(0)
		for {
			by, err := s.watch.wait(next)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.fault("wait", err)
			}
			next = s.look(ctx, &wg, time.Now(), by)
		}
	})
	<-ctx.Done()
	return nil
}

func (s *Shell) close() {
	s.watch.close()
	s.figures.Close()
}

// Close closes what New has opened, where Run is not called.
func (s *Shell) Close() { s.close() }

// Path says how memory is watched.
func (s *Shell) Path() string {
	if s.watch.alarm == nil {
		return fmt.Sprintf("cgroup %s, every 10 ms near a threshold, else up to every second (cgroups %s)", s.opts.Cgroup, s.opts.Host.Mode)
	}
	return fmt.Sprintf("%s of cgroup %s (cgroups %s), and every 10 ms near a threshold", s.watch.alarm, s.watch.path, s.opts.Host.Mode)
}

// fault logs an error of a kind once, until it is another.
func (s *Shell) fault(of string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	same := s.faults[of] == text
	s.faults[of] = text
	s.mu.Unlock()
	if !same && err != nil {
		s.opts.Log.Error(err, "Figures of the node cannot be read", "of", of)
	}
}
