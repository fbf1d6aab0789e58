package localnodes

import (
	"time"

	"github.com/berthproject/berth/internal/settings"
)

// externalTimeout is how long nodes of another API server, which may have no controller for it,
// wait for a podCIDR.
const externalTimeout = 10 * time.Second

// PodCIDRTimeout returns how long nodes wait for a podCIDR before they choose one themselves;
// negative: without limit. isBerth reports whether the API server is Berth's.
func PodCIDRTimeout(s *settings.Settings, isBerth bool) time.Duration {
	switch {
	case !s.Berth.NodeIPAM.AllocateNodeCIDRs:
		return 0
	case isBerth:
		return -1
	}
	return externalTimeout
}
