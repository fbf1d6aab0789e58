package localnodes

import (
	"time"

	"github.com/berthproject/berth/internal/settings"
)

// externalTimeout is how long nodes of another API server, which may have no controller for it,
// wait for a podCIDR.
const externalTimeout = 10 * time.Second

// PodCIDRTimeout returns how long nodes wait for a podCIDR before they choose one themselves;
// negative: forever. berth reports whether the API server is Berth's.
func PodCIDRTimeout(s *settings.Settings, berth bool) time.Duration {
	switch {
	case !s.Berth.NodeIPAM.AllocateNodeCIDRs:
		return 0
	case berth:
		return -1
	}
	return externalTimeout
}
