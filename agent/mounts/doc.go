// Package mounts lists and unmounts mount points below a directory. It cleans up disks of
// virtual nodes, pod volumes and what container runtimes leave behind.
package mounts
