package cadvisor

import "github.com/prometheus/client_golang/prometheus"

// value is the value of a series that has only the labels of the owner.
type value struct {
	name string
	kind prometheus.ValueType
	n    float64
}

// values collects the values of a cgroup.
type values []value

func (v *values) counter(name string, n float64, ok bool) {
	if ok {
		*v = append(*v, value{name, prometheus.CounterValue, n})
	}
}

func (v *values) gauge(name string, n float64, ok bool) {
	if ok {
		*v = append(*v, value{name, prometheus.GaugeValue, n})
	}
}

// read returns the values of a cgroup.
func (r reader) read() (v values) {
	if r.isV2() {
		r.readV2(&v)
	} else {
		r.readV1(&v)
	}
	processes, ok := r.lines("memory", "cgroup.procs")
	v.gauge("container_processes", processes, ok)
	for _, resource := range []string{"cpu", "memory", "io"} {
		psi, ok := r.host.PSI(r.path, resource)
		v.counter("container_pressure_"+resource+"_waiting_seconds_total", psi.Some.Total.Seconds(), ok)
		v.counter("container_pressure_"+resource+"_stalled_seconds_total", psi.Full.Total.Seconds(), ok)
	}
	return v
}

// userHz is the number of units of cpuacct.stat per second.
const userHz = 100

func (r reader) readV1(v *values) {
	usage, ok := r.number("cpuacct", "cpuacct.usage")
	v.counter("container_cpu_usage_seconds_total", usage/1e9, ok)
	cpu := r.pairs("cpuacct", "cpuacct.stat")
	v.counter("container_cpu_user_seconds_total", cpu["user"]/userHz, cpu != nil)
	v.counter("container_cpu_system_seconds_total", cpu["system"]/userHz, cpu != nil)
	throttle := r.pairs("cpu", "cpu.stat")
	r.addThrottling(v, throttle, throttle["throttled_time"]/1e9)
	quota, ok := r.number("cpu", "cpu.cfs_quota_us")
	v.gauge("container_spec_cpu_quota", quota, ok && quota > 0)
	period, ok := r.number("cpu", "cpu.cfs_period_us")
	v.gauge("container_spec_cpu_period", period, ok)
	shares, ok := r.number("cpu", "cpu.shares")
	v.gauge("container_spec_cpu_shares", shares, ok)
	memory := r.pairs("memory", "memory.stat")
	used, ok := r.number("memory", "memory.usage_in_bytes")
	r.addMemory(v, used, memory["total_inactive_file"], ok)
	v.gauge("container_memory_rss", memory["total_rss"], memory != nil)
	v.gauge("container_memory_cache", memory["total_cache"], memory != nil)
	v.gauge("container_memory_mapped_file", memory["total_mapped_file"], memory != nil)
	v.gauge("container_memory_swap", memory["total_swap"], memory != nil)
	peak, ok := r.number("memory", "memory.max_usage_in_bytes")
	v.gauge("container_memory_max_usage_bytes", peak, ok)
	failures, ok := r.number("memory", "memory.failcnt")
	v.counter("container_memory_failcnt", failures, ok)
	maximum, ok := r.number("memory", "memory.limit_in_bytes")
	v.gauge("container_spec_memory_limit_bytes", maximum, ok)
	oom := r.pairs("memory", "memory.oom_control")
	v.counter("container_oom_events_total", oom["oom_kill"], oom != nil)
	threads, ok := r.lines("memory", "tasks")
	v.gauge("container_threads", threads, ok)
	r.addThreadLimit(v)
}

func (r reader) readV2(v *values) {
	cpu := r.pairs("cpu", "cpu.stat")
	v.counter("container_cpu_usage_seconds_total", cpu["usage_usec"]/1e6, cpu != nil)
	v.counter("container_cpu_user_seconds_total", cpu["user_usec"]/1e6, cpu != nil)
	v.counter("container_cpu_system_seconds_total", cpu["system_usec"]/1e6, cpu != nil)
	r.addThrottling(v, cpu, cpu["throttled_usec"]/1e6)
	for quota, period := range r.pairs("cpu", "cpu.max") { // "QUOTA PERIOD"
		v.gauge("container_spec_cpu_quota", parseNumber(quota), parseNumber(quota) > 0)
		v.gauge("container_spec_cpu_period", period, true)
	}
	weight, ok := r.number("cpu", "cpu.weight")
	v.gauge("container_spec_cpu_shares", 2+(weight-1)*262142/9999, ok)
	memory := r.pairs("memory", "memory.stat")
	used, ok := r.number("memory", "memory.current")
	r.addMemory(v, used, memory["inactive_file"], ok)
	v.gauge("container_memory_rss", memory["anon"], memory != nil)
	v.gauge("container_memory_cache", memory["file"], memory != nil)
	v.gauge("container_memory_mapped_file", memory["file_mapped"], memory != nil)
	swap, ok := r.number("memory", "memory.swap.current")
	v.gauge("container_memory_swap", swap, ok)
	peak, ok := r.number("memory", "memory.peak")
	v.gauge("container_memory_max_usage_bytes", peak, ok)
	maximum, ok := r.number("memory", "memory.max")
	v.gauge("container_spec_memory_limit_bytes", maximum, ok)
	events := r.pairs("memory", "memory.events")
	v.counter("container_memory_failcnt", events["max"], events != nil)
	v.counter("container_oom_events_total", events["oom_kill"], events != nil)
	threads, ok := r.number("pids", "pids.current")
	v.gauge("container_threads", threads, ok)
	r.addThreadLimit(v)
}

// addThrottling adds the throttling by the CPU limit. A cgroup without a limit has no such values.
func (r reader) addThrottling(v *values, stat map[string]float64, seconds float64) {
	limited := stat["nr_periods"] > 0
	v.counter("container_cpu_cfs_periods_total", stat["nr_periods"], limited)
	v.counter("container_cpu_cfs_throttled_periods_total", stat["nr_throttled"], limited)
	v.counter("container_cpu_cfs_throttled_seconds_total", seconds, limited)
}

// addMemory adds the usage and the working set: usage minus inactive page cache. Both are in bytes.
func (r reader) addMemory(v *values, used, inactiveFile float64, ok bool) {
	v.gauge("container_memory_usage_bytes", used, ok)
	v.gauge("container_memory_working_set_bytes", max(used-inactiveFile, 0), ok)
}

func (r reader) addThreadLimit(v *values) {
	n, ok := r.number("pids", "pids.max")
	v.gauge("container_threads_max", n, ok)
}
