package config

import "github.com/berthproject/berth/engine/nodepressure"

// Pressure holds the options of what a node does when memory, disk or pids run short, beyond what a
// KubeletConfiguration says. With all of them false it does what a kubelet does.
type Pressure struct {
	ConfirmPageCache    bool `json:"confirm" doc:"Whether memory that page cache alone makes scarce counts as scarce only once a second look finds that cache in use, by pages that are read again or tasks that stall (kubernetes#43916). false: a kubelet's working set decides at once."`
	Forecast            bool `json:"forecast" doc:"Whether a pod goes before a hard threshold of memory is passed, when at its growth all would be used up within 50 ms, the time that an eviction takes at worst."`
	CountTerminating    bool `json:"countDying" doc:"Whether what a pod still holds that is being killed counts as on its way back: then nobody else goes for it, and other signals are acted upon meanwhile. false: nothing is evicted while a victim dies, for 30 s at most."`
	RankInodes          bool `json:"rankInodes" doc:"Whether pods are ranked by their inodes alone when inodes run short. false: the bytes of their storage requests are taken off the number of inodes, as in a kubelet."`
	CountRootFs         bool `json:"countRootFs" doc:"Whether a container's writable layer counts against its limit of ephemeral storage when images have a filesystem of their own, too (kubernetes#139205)."`
	NegativeGraceIsPods bool `json:"negativeGraceIsPods" doc:"Whether a negative evictionMaxPodGracePeriod means the pod's own grace period, as it is documented. false: the pod is killed at once (kubernetes#118172)."`
}

func defaultPressure() Pressure { return Pressure(nodepressure.AllOptions()) }

// Options are the options as engine/nodepressure takes them.
func (p *Pressure) Options() nodepressure.Options { return nodepressure.Options(*p) }
