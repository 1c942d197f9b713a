package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

// argumentsKey is where the app keeps the arguments of the program.
const argumentsKey = "arguments"

// goOn is the command that goes on with a run in dir: the one that was given, with the
// run directory named, as a POSIX shell reads it.
func goOn(c *cli.Context, dir string) string {
	args, _ := c.App.Metadata[argumentsKey].([]string)
	if len(args) == 0 {
		args = []string{"doubletake", c.Command.Name}
	}
	args = slices.Clone(args)
	if !namesOut(args) {
		// Behind the command's name it is a flag wherever the arguments end.
		at := slices.Index(args, c.Command.Name) + 1
		args = slices.Insert(args, at, "--out", dir)
	}
	for i, arg := range args {
		args[i] = shellWord(arg)
	}
	return strings.Join(args, " ")
}

// namesOut says whether arguments name the run directory.
func namesOut(args []string) bool {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case arg == "--":
			return false
		case strings.HasPrefix(arg, "-") && name == "out":
			return true
		}
	}
	return false
}

// shellPath writes a path as one word of a POSIX shell that no command takes for a flag.
func shellPath(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return shellWord(path)
}

// shellWord writes a text as one word of a POSIX shell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// diskFull says that an error is for want of room on a disk.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// unwritten makes an error for want of room an incomplete run, and says how to go on. It
// leaves other errors, and those that say so already.
func unwritten(c *cli.Context, dir string, err error) error {
	var exit *exitError
	if err == nil || !diskFull(err) || errors.As(err, &exit) {
		return err
	}
	return &exitError{exitIncomplete, fmt.Errorf("the disk is full (%w); free some space, then this goes on from what is finished:\n  %s", err, goOn(c, dir))}
}
