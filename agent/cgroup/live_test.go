package cgroup_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/testkit"
)

func TestProcessMemory(t *testing.T)   { checkMemory(t, host(t)) }
func TestV2ProcessMemory(t *testing.T) { checkMemory(t, hostV2(t)) }

// checkMemory allocates 64 MiB two levels below a cgroup and checks what Group reads of the cgroup.
func checkMemory(t *testing.T, h *cgroup.Host) {
	const allocated = 64 << 20
	top := group(t, h, cgroup.Limits{Memory: 256 << 20, Pids: 100, CPUShares: 512, CPUQuota: 200_000})
	if err := h.Create(top+"/pods/one", cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	run(t, h, top+"/pods/one", "hold", strconv.Itoa(allocated))
	g, err := h.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil {
		t.Fatal(err)
	}
	if m.Usage < allocated || m.WorkingSet() < allocated || m.Usage > 4*allocated {
		t.Errorf("usage %d, working set %d, want at least %d, and usage at most %d", m.Usage, m.WorkingSet(), allocated, 4*allocated)
	}
	// memory.stat lags by up to 2 s.
	waitUntil(t, "memory.stat counts the process", func() bool {
		return g.Memory(&m) == nil && m.Unreclaimable() >= allocated
	})
	if limit, err := g.Limit(); err != nil || limit != 256<<20 {
		t.Errorf("limit %d, %v, want 256 MiB", limit, err)
	}
	if c, err := g.Capacity(); err != nil || c != 256<<20 {
		t.Errorf("capacity %d, %v, want 256 MiB", c, err)
	}
	if n, err := g.PidLimit(); err != nil || n != 100 {
		t.Errorf("pid limit %d, %v, want 100", n, err)
	}
	if n, err := g.Pids(); err != nil || n < 1 {
		t.Errorf("pids %d, %v, want at least 1", n, err)
	}
	if n, err := g.CPU(); err != nil || n <= 0 {
		t.Errorf("CPU time %d ns, %v, want more than 0", n, err)
	}
	if n, err := g.OOMKills(); err != nil || n != 0 {
		t.Errorf("OOM kills %d, %v, want 0", n, err)
	}
	var s cgroup.PSI
	if g.HasPSI() {
		if err := g.PSI(&s); err != nil {
			t.Error(err)
		}
	}
}

func TestMachine(t *testing.T)   { checkMachine(t, host(t)) }
func TestV2Machine(t *testing.T) { checkMachine(t, hostV2(t)) }

// checkMachine checks that the memory that Group reads of the root is between 0 and the total.
func checkMachine(t *testing.T, h *cgroup.Host) {
	g, err := h.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil {
		t.Fatal(err)
	}
	total, err := g.Capacity()
	if err != nil || total < 256<<20 {
		t.Fatalf("capacity %d, %v, want at least 256 MiB", total, err)
	}
	if m.Usage <= 0 || m.Usage > total || m.Anon <= 0 {
		t.Errorf("usage %d and anonymous memory %d, want more than 0 and at most %d", m.Usage, m.Anon, total)
	}
}

func TestKillForkBomb(t *testing.T)   { checkKillForkBomb(t, host(t)) }
func TestV2KillForkBomb(t *testing.T) { checkKillForkBomb(t, hostV2(t)) }

// checkKillForkBomb kills and removes a cgroup that forks as fast as it can.
func checkKillForkBomb(t *testing.T, h *cgroup.Host) {
	top := group(t, h, cgroup.Limits{Pids: 200})
	run(t, h, top, "bomb")
	g, err := h.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	waitUntil(t, "the fork bomb has started", func() bool {
		n, err := g.Pids()
		return err == nil && n > 100
	})
	if err := h.Kill(top); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Remove(ctx, top); err != nil {
		t.Fatal(err)
	}
	var m cgroup.Memory
	if err := g.Memory(&m); !errors.Is(err, cgroup.ErrRemoved) {
		t.Errorf("reading a removed cgroup: %v, want %v", err, cgroup.ErrRemoved)
	}
	if err := h.Kill(top); err != nil {
		t.Errorf("killing a removed cgroup: %v, want no error", err)
	}
	if err := h.Remove(ctx, top); err != nil {
		t.Errorf("removing a removed cgroup: %v, want no error", err)
	}
}

func TestOOMKills(t *testing.T)   { checkOOMKills(t, host(t)) }
func TestV2OOMKills(t *testing.T) { checkOOMKills(t, hostV2(t)) }

// checkOOMKills triggers the OOM killer and checks the counters of the victim and of a sibling.
func checkOOMKills(t *testing.T, h *cgroup.Host) {
	top := group(t, h, cgroup.Limits{Memory: 64 << 20})
	for _, name := range []string{"/victim", "/sibling"} {
		if err := h.Create(top+name, cgroup.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	// Do not wait for output: the kernel may kill the process before it prints anything.
	allocate(t, h, top+"/victim", 256<<20)
	for name, want := range map[string]int64{"/victim": 1, "/sibling": 0} {
		g, err := h.Open(top + name)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if want > 0 {
			waitUntil(t, "the kernel has killed a process", func() bool { n, _ := g.OOMKills(); return n >= want })
		} else if n, err := g.OOMKills(); err != nil || n != want {
			t.Errorf("%s: %d OOM kills, %v, want %d", name, n, err, want)
		}
	}
}

// allocate starts a process that allocates memory, without waiting for it.
func allocate(t *testing.T, h *cgroup.Host, path string, bytes int) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", `read line; exec "$0" "$@"`, executable(t), strconv.Itoa(bytes)}, &os.ProcAttr{
		Env: append(os.Environ(), "BERTH_CGROUP_TEST=hold"), Files: []*os.File{r, nil, nil},
		Sys: &unix.SysProcAttr{Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill(); _, _ = p.Wait(); _ = r.Close(); _ = w.Close() })
	if err := h.AddProcess(path, p.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
}

// waitUntil waits at most 1 min for ok to return true.
func waitUntil(t testing.TB, condition string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out after 1 min: %s", condition)
		}
	}
}

func TestReadsDoNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	h := host(t)
	g, err := h.Open(group(t, h, cgroup.Limits{Memory: 1 << 30, Pids: 100}))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	var s cgroup.PSI
	for name, read := range map[string]func(){
		"usage": func() { _, _ = g.Usage() }, "memory": func() { _ = g.Memory(&m) }, "limit": func() { _, _ = g.Capacity() },
		"pids": func() { _, _ = g.Pids() }, "oom": func() { _, _ = g.OOMKills() }, "cpu": func() { _, _ = g.CPU() }, "psi": func() { _ = g.PSI(&s) },
	} {
		if n := testing.AllocsPerRun(100, read); n > 0 {
			t.Errorf("reading %s allocates %v times, want 0", name, n)
		}
	}
}

func TestRootIsNeverKilledOrRemoved(t *testing.T) {
	h := host(t)
	if err := h.Kill("/"); err == nil {
		t.Error("Kill succeeded for /, want an error")
	}
	if err := h.Remove(context.Background(), "/"); err == nil {
		t.Error("Remove succeeded for /, want an error")
	}
}

func BenchmarkMemory(b *testing.B) {
	h := host(b)
	g, err := h.Open(group(b, h, cgroup.Limits{}))
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	var m cgroup.Memory
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Memory(&m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUsage(b *testing.B) {
	h := host(b)
	g, err := h.Open(group(b, h, cgroup.Limits{}))
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		if _, err := g.Usage(); err != nil {
			b.Fatal(err)
		}
	}
}
