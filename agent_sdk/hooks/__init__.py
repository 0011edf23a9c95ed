"""Hooks: functions of the application that are heard before, during and after a call."""
