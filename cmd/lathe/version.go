package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func newVersionCommand(app *application) *cobra.Command {
	return &cobra.Command{Use: "version", RunE: func(*cobra.Command, []string) error { return errors.New("not wired yet") }}
}
func newDoctorCommand(app *application) *cobra.Command {
	return &cobra.Command{Use: "doctor", RunE: func(*cobra.Command, []string) error { return errors.New("not wired yet") }}
}

var _ context.Context
