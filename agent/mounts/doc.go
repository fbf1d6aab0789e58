// Package mounts says what is mounted below a directory, and unmounts it. Disks of virtual
// nodes, volumes of pods and what container runtimes leave behind are cleared away by it.
package mounts
