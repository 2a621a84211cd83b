package main

import (
	"errors"
	"fmt"
	"net/mail"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/relay/workqueue/notifications"
)

// Names of the work queues.
const (
	queueJobs          = "jobs"
	queueNotifications = notifications.Queue
)

// queueFlags choose the work queues, and what jobs go by.
type queueFlags struct {
	Queues []string `env:"QUEUES" placeholder:"NAME" help:"Work queues to run beside the outboxes: jobs, notifications. Without it none; an operator may look at both and decide all the same. NOTIFICATION_* variables tune the latter."`
	jobsTopicFlag
	smtpFlags
}

// Validate names every queue that there is not.
func (f *queueFlags) Validate() error {
	errs := []error{f.smtpFlags.Validate()}
	for _, name := range f.names() {
		if name != queueJobs && name != queueNotifications {
			errs = append(errs, fmt.Errorf("--queues: there is no queue %q, want %s or %s", name, queueJobs, queueNotifications))
		}
	}
	return errors.Join(errs...)
}

// names are the queues, each once.
func (f *queueFlags) names() []string {
	var names []string
	for _, name := range f.Queues {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// config reads what the queues go by, of which some is in the environment alone.
func (f *queueFlags) config(env shell.Lookup) (queuesConfig, error) {
	settings, err := notifications.FromEnvironment(env)
	if err != nil {
		return queuesConfig{}, shell.Exit(shell.ExitUsage, err)
	}
	password, err := f.password()
	if err != nil {
		return queuesConfig{}, err
	}
	return queuesConfig{run: f.names(), notifications: settings, smtp: smtpConfig{
		host: f.SMTPHost, port: f.SMTPPort, from: f.SMTPFrom, user: f.SMTPUser, password: password, tls: f.SMTPTLS,
	}}, nil
}

// jobsTopicFlag is where channel pubsub sends.
type jobsTopicFlag struct {
	JobsTopic string `env:"JOBS_TOPIC" placeholder:"TOPIC" help:"Topic to which jobs of channel pubsub go; without it they are dead at once, and can be requeued later."`
}

// with adds the topic to a catalog.
func (f jobsTopicFlag) with(catalog *contracts.Catalog) (*contracts.Catalog, error) {
	catalog, err := catalog.WithJobsTopic(f.JobsTopic)
	if err != nil {
		return nil, shell.Usagef("--jobs-topic: %w", err)
	}
	return catalog, nil
}

// smtpFlags are where channel email sends.
type smtpFlags struct {
	SMTPHost         string `name:"smtp-host" env:"SMTP_HOST" placeholder:"HOST" help:"SMTP server to which jobs of channel email go; without it they are dead at once, and can be requeued later."`
	SMTPPort         int    `name:"smtp-port" env:"SMTP_PORT" default:"587" help:"Its port."`
	SMTPTLS          string `name:"smtp-tls" env:"SMTP_TLS" enum:"starttls,tls,none" default:"starttls" help:"starttls (mandatory), tls (from the first byte, as on port 465) or none, which is for a server on this machine."`
	SMTPFrom         string `name:"smtp-from" env:"SMTP_FROM" placeholder:"ADDRESS" help:"Address that messages come from."`
	SMTPUser         string `name:"smtp-user" env:"SMTP_USER" placeholder:"NAME" help:"Who signs in; without it nobody does."`
	SMTPPassword     string `name:"smtp-password" env:"SMTP_PASSWORD" placeholder:"PASSWORD" help:"The password. Rather set the variable, or --smtp-password-file: others can see a command line."`
	SMTPPasswordFile string `name:"smtp-password-file" env:"SMTP_PASSWORD_FILE" type:"path" placeholder:"FILE" help:"File that holds the password, as a mounted secret does."`

	Shown bool `kong:"-"` // the password stands on the command line, which others can see
}

// Validate names what is missing.
func (f *smtpFlags) Validate() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(f.SMTPPort < 1 || f.SMTPPort > 65535, "--smtp-port is %d, want 1 to 65535", f.SMTPPort)
	wrong(f.SMTPPassword != "" && f.SMTPPasswordFile != "", "--smtp-password and --smtp-password-file: give one of them")
	wrong(f.SMTPUser == "" && (f.SMTPPassword != "" || f.SMTPPasswordFile != ""), "--smtp-user is needed with a password")
	if f.SMTPHost == "" {
		wrong(f.SMTPFrom != "" || f.SMTPUser != "", "--smtp-host is needed with --smtp-from and --smtp-user")
		return errors.Join(errs...)
	}
	if f.SMTPFrom == "" {
		wrong(true, "--smtp-from is needed with --smtp-host")
	} else if _, err := mail.ParseAddress(f.SMTPFrom); err != nil {
		wrong(true, "--smtp-from %q is no address", f.SMTPFrom)
	}
	wrong(f.SMTPUser != "" && f.SMTPTLS == smtpNoTLS && !loopbackHost(f.SMTPHost), "--smtp-tls none would carry the password in the clear to %s", f.SMTPHost)
	return errors.Join(errs...)
}

// AfterApply looks whether the password was given on the command line.
func (f *smtpFlags) AfterApply(parsed *kong.Context) error { //nolint:unparam // as kong wants it
	f.Shown = program.Given(parsed, "smtp-password")
	return nil
}

func (f *smtpFlags) password() (string, error) {
	if f.SMTPPasswordFile == "" {
		return f.SMTPPassword, nil
	}
	data, err := os.ReadFile(f.SMTPPasswordFile)
	if err != nil {
		return "", shell.Exit(shell.ExitUsage, fmt.Errorf("read SMTP password: %w", err))
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
