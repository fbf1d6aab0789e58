package stats

import "github.com/berthproject/berth/agent/diskusage"

// DirUsage is the disk usage of a directory tree.
type DirUsage = diskusage.Usage

// MeasureDir measures a directory tree. Unreadable parts, and a missing root, count as empty.
func MeasureDir(root string) DirUsage {
	usage, _ := diskusage.Measure(root)
	return usage
}
