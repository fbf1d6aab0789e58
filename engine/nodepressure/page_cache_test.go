package nodepressure

import (
	"testing"
	"time"
)

// TestDirtyWriterIsNotPressure checks a writer whose dirty pages count as active for some tens of milliseconds.
func TestDirtyWriterIsNotPressure(t *testing.T) {
	m := hardMemory(AllOptions())
	for i := range 50 {
		available, active := int64(400), int64(10)
		if i%7 < 4 {
			available, active = 40, 370
		}
		effects, _ := m.Step(at(i*20), withPageCache(memoryObservation(i*20, available, memoryPod("writer", 15)), active, 0, i))
		if len(effects) > 0 || m.Conditions()[0].True {
			t.Fatalf("at %d ms: effects %v, MemoryPressure %v, want none and false", i*20, effects, m.Conditions()[0].True)
		}
	}
}

func TestHotPageCacheIsNotPressure(t *testing.T) {
	m := hardMemory(AllOptions())
	for i := range 300 { // 30 s with 1 % stalls and few refaults
		effects, wake := m.Step(at(i*100), withPageCache(memoryObservation(i*100, 60, memoryPod("reader", 20)), 1900, int64(i/10), i))
		if len(effects) > 0 {
			t.Fatalf("at %d ms: effects %v, want none", i*100, effects)
		}
		if wake.IsZero() {
			t.Fatal("wake time is zero, want that of a second measurement")
		}
	}
	compatible := hardMemory(Options{})
	if effects, _ := compatible.Step(at(0), withPageCache(memoryObservation(0, 60, memoryPod("reader", 20)), 1900, 0, 0)); len(evicted(effects)) != 1 {
		t.Errorf("without ConfirmPageCache: %v, want the kubelet's eviction", effects)
	}
}

func TestThrashingPageCacheIsPressure(t *testing.T) {
	m := hardMemory(AllOptions())
	for i := range 30 { // half the time stalled, with refaults
		effects, _ := m.Step(at(i*100), withPageCache(memoryObservation(i*100, 60, memoryPod("reader", 20)), 1900, int64(i)*5000, i*50))
		if pods := evicted(effects); len(pods) > 0 {
			if i*100 < 1000 || i*100 > 1200 {
				t.Errorf("evicted after %d ms, want confirmation during one second", i*100)
			}
			return
		}
	}
	t.Error("no pod was evicted within 3 s, want reader")
}

func TestAnonymousMemoryIsImmediatePressure(t *testing.T) {
	m := hardMemory(AllOptions())
	effects, _ := m.Step(at(0), withPageCache(memoryObservation(0, 60, memoryPod("hog", 1900)), 30, 0, 0))
	if pods := evicted(effects); len(pods) != 1 || !m.Conditions()[0].True {
		t.Errorf("evicted %v, condition %v; want one pod and True", pods, m.Conditions()[0])
	}
}

func TestRecheckWithoutCacheStatistics(t *testing.T) {
	observe := func(ms int) *Observation {
		o := withPageCache(memoryObservation(ms, 60, memoryPod("reader", 20)), 1900, -1, 0)
		o.PageCache.StallTime = -1
		return o
	}
	m := hardMemory(AllOptions())
	effects, wake := m.Step(at(0), observe(0))
	if len(effects) > 0 || !wake.Equal(at(0).Add(cacheRecheckDelay)) {
		t.Fatalf("first measurement: %v, wake time %v; want no effects and %v", effects, wake, at(0).Add(cacheRecheckDelay))
	}
	if effects, _ = m.Step(wake, observe(100)); len(evicted(effects)) != 1 {
		t.Errorf("second measurement: %v, want one eviction", effects)
	}
}

func TestRefaultsAloneProvePressure(t *testing.T) {
	for rate, want := range map[int64]int{10: 0, 200_000: 1} {
		m := hardMemory(AllOptions())
		count := 0
		for i := range 15 {
			o := withPageCache(memoryObservation(i*100, 60, memoryPod("reader", 20)), 1900, int64(i)*rate, 0)
			o.PageCache.StallTime = -1
			effects, _ := m.Step(at(i*100), o)
			count = max(count, len(evicted(effects)))
		}
		if count != want {
			t.Errorf("%d pages each 100 ms: %d evicted, want %d", rate, count, want)
		}
	}
}

// TestMemoryGrowthConsumesPageCache checks memory that grows by 25 MiB within the forecast horizon, at 500 MiB/s.
// 7 MiB of page cache do not delay the eviction. Of 40 MiB, 15 MiB count as available and delay the eviction.
func TestMemoryGrowthConsumesPageCache(t *testing.T) {
	for active, want := range map[int64]int64{7: 100, 40: 85} {
		m := hardMemory(AllOptions())
		for available := int64(200); ; available -= 5 {
			ms := int(200 - available)
			effects, _ := m.Step(at(2*ms), withPageCache(memoryObservation(2*ms, available, memoryPod("hog", 1000)), active, 0, 0))
			if len(evicted(effects)) == 0 && available > 0 {
				continue
			}
			if available < want-5 || available > want {
				t.Errorf("with %d MiB of page cache: evicted at %d MiB, want just below %d", active, available, want)
			}
			break
		}
	}
}

func TestForecast(t *testing.T) {
	for name, tc := range map[string]struct {
		available []int64 // MiB, every 10 ms
		forecast  bool
		want      int // index of the eviction; below 0: none
	}{
		"50 GiB/s":                               {[]int64{1900, 1400, 900, 400, 150}, true, 2},
		"5 GiB/s":                                {[]int64{500, 450, 400, 350, 300, 250, 200, 150}, true, 5},
		"500 MiB/s":                              {[]int64{130, 125, 120, 115, 110, 105}, true, -1},
		"one step":                               {[]int64{1900, 150, 150, 150}, true, -1},
		"forecast disabled":                      {[]int64{1900, 1400, 900, 400, 150}, false, -1},
		"forecast disabled, below the threshold": {[]int64{1900, 1400, 900, 400, 50}, false, 4},
		"falls and rises again":                  {[]int64{1900, 1400, 1800, 1300, 1700}, true, -1},
		"fast, but slowing down":                 {[]int64{900, 840, 830, 825, 820}, true, -1},
		"almost full":                            {[]int64{103, 102, 101, 100}, true, -1},
		"single measurement":                     {[]int64{800}, true, -1},
	} {
		t.Run(name, func(t *testing.T) {
			m := hardMemory(Options{Forecast: tc.forecast})
			for i, a := range tc.available {
				o := withPageCache(memoryObservation(i*10, a, memoryPod("hog", 2000-a)), 0, 0, 0)
				effects, _ := m.Step(at(i*10), o)
				got := len(evicted(effects)) > 0
				if got != (i == tc.want) {
					t.Fatalf("measurement %d, %d MiB: evicted %v, want an eviction at measurement %d", i, a, got, tc.want)
				}
				if got {
					return
				}
			}
		})
	}
}

func TestPerSecond(t *testing.T) {
	for _, tc := range []struct {
		bytes   int64
		elapsed time.Duration
		want    int64
	}{{500 * mi, time.Second, 500 * mi}, {5 * mi, 10 * time.Millisecond, 500 * mi}, {-mi, time.Second, -mi}, {1 << 50, time.Second, 1 << 50}} {
		if got := perSecond(tc.bytes, tc.elapsed); got != tc.want {
			t.Errorf("perSecond(%d, %s) = %d, want %d", tc.bytes, tc.elapsed, got, tc.want)
		}
	}
}
