package config

import "github.com/berthproject/berth/engine/nodepressure"

// Pressure holds node pressure options that KubeletConfiguration does not have. With all
// of them false, nodes behave like the kubelet.
type Pressure struct {
	ConfirmPageCache           bool `json:"confirm" doc:"Whether page cache alone does not trigger an eviction: if only page cache causes memory pressure, a second check must find it in use, by refaults or stalled tasks (kubernetes#43916). false: the working set decides at once, as in the kubelet."`
	Forecast                   bool `json:"forecast" doc:"Whether a pod is evicted before a hard memory threshold is crossed if memory would run out within 50 ms at its growth rate. 50 ms is the maximum duration of an eviction."`
	CountTerminating           bool `json:"countTerminating" doc:"Whether memory of pods that are being killed counts as reclaimed. No second pod is then evicted for it, and other signals are still handled. false: nothing is evicted while a victim terminates, for up to 30 s."`
	RankInodes                 bool `json:"rankInodes" doc:"Whether pods are ranked by inodes alone when inodes run out. false: the bytes of their storage requests are subtracted from the inodes, as in the kubelet."`
	CountRootFs                bool `json:"countRootFs" doc:"Whether a container's writable layer counts against its ephemeral storage limit also if images have a separate filesystem (kubernetes#139205)."`
	NegativeGraceMeansPodGrace bool `json:"negativeGraceIsPods" doc:"Whether a negative evictionMaxPodGracePeriod means the pod's own grace period, as documented. false: the pod is killed at once (kubernetes#118172)."`
	NameVolumes                bool `json:"nameVolumes" doc:"Whether the message of an eviction for disk space also names a volume of the pod, or its files such as /etc/hosts. It names what uses more than each container. false: it names containers only, as in the kubelet."`
}

func defaultPressure() Pressure { return Pressure(nodepressure.AllOptions()) }

// Options returns the options for engine/nodepressure.
func (p *Pressure) Options() nodepressure.Options { return nodepressure.Options(*p) }
