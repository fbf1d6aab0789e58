package stats

import "github.com/berthproject/berth/agent/diskusage"

// DirUsage is what a directory tree holds on disk.
type DirUsage = diskusage.Usage

// MeasureDir measures a tree. Of what cannot be read the rest counts; a tree that is not there holds nothing.
func MeasureDir(root string) DirUsage {
	held, _ := diskusage.Measure(root)
	return held
}
