/* gyrator for C and C++: couples FMUs and units of your own, and accounts for energy (docs/c.md).
   Made of crates/capi by cbindgen: change the sources, not this file. */

#ifndef GYRATOR_H
#define GYRATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Outcome of a function: 0 if it has done its work. The numbers are the exit codes of the program `gyrator`.
 */
typedef enum {
  /**
   * Success.
   */
  GYRATOR_CODE_OK = 0,
  /**
   * A unit failed while the system ran, a value is not finite, or a result cannot be written.
   */
  GYRATOR_CODE_FAILED = 1,
  /**
   * Wrong use of a function: NULL, text that is not UTF-8, an unknown name, a run that has ended.
   */
  GYRATOR_CODE_USAGE = 2,
  /**
   * The description of the system is invalid.
   */
  GYRATOR_CODE_INVALID_INPUT = 3,
  /**
   * An FMU cannot be loaded.
   */
  GYRATOR_CODE_NOT_LOADED = 4,
  /**
   * The library itself is wrong; the object must not be used any more.
   */
  GYRATOR_CODE_PANICKED = 101,
} gyrator_code;

/**
 * An input or a tunable parameter of a run, which is written without a look-up.
 */
typedef struct gyrator_input gyrator_input;

/**
 * An output, a local variable or a parameter of a run, which is read without a look-up.
 */
typedef struct gyrator_output gyrator_output;

/**
 * A system that runs: initialised, at a communication point, ready for its next macro-step.
 */
typedef struct gyrator_run gyrator_run;

/**
 * The state of a run at a communication point, to which the run can go back.
 */
typedef struct gyrator_snapshot gyrator_snapshot;

/**
 * Units, connections, power bonds and the experiment, by names.
 */
typedef struct gyrator_system gyrator_system;

/**
 * A string in UTF-8 that ends with a zero, or NULL if that is allowed. It is copied if it is kept.
 */
typedef const char *gyrator_text;

/**
 * A list of names; one of zeros is empty.
 */
typedef struct {
  /**
   * The first one.
   */
  const gyrator_text *first;
  /**
   * How many there are.
   */
  size_t count;
} gyrator_names;

/**
 * A parameter of a method, an extrapolation, a correction, a step control or an interface model.
 */
typedef struct {
  /**
   * Its name, as `gyrator list` prints it.
   */
  gyrator_text name;
  /**
   * Its value, if `text` is NULL.
   */
  double number;
  /**
   * Its value, if it is a word.
   */
  gyrator_text text;
} gyrator_setting;

/**
 * An interface model of a multibody component (docs/coupling.md). Members that are zero are left out. Lists of variables have one entry for each
 * velocity at the bonds.
 */
typedef struct {
  /**
   * Its name.
   */
  gyrator_text name;
  /**
   * The multibody component.
   */
  gyrator_text component;
  /**
   * How often values are exchanged with the fast components, s.
   */
  double exchange_step;
  /**
   * Names of the bonds between the multibody component and the fast components.
   */
  gyrator_names bonds;
  /**
   * Outputs of the multibody component: the positions, m.
   */
  gyrator_names positions;
  /**
   * Outputs of the multibody component: its inverse effective mass, 1/kg.
   */
  gyrator_names inverse_mass;
  /**
   * Outputs of the multibody component: its acceleration without the forces of the bonds, m/s².
   */
  gyrator_names free_acceleration;
  /**
   * Outputs of the multibody component: its accelerations, m/s², if it gives neither mass nor free acceleration.
   */
  gyrator_names accelerations;
  /**
   * Outputs of fast components, COMPONENT.VARIABLE: the whole forces, N.
   */
  gyrator_names forces;
  /**
   * Outputs of fast components, COMPONENT.VARIABLE: the negative derivatives of the forces' rates by the velocities, N/m.
   */
  gyrator_names stiffness;
  /**
   * Outputs of fast components, COMPONENT.VARIABLE: the rates of the forces, N/s.
   */
  gyrator_names force_rates;
  /**
   * Which side is stepped first, a word that `gyrator list` prints; NULL for the default.
   */
  gyrator_text order;
  /**
   * Parameters of the order.
   */
  const gyrator_setting *settings;
  /**
   * How many there are.
   */
  size_t setting_count;
} gyrator_interface_model;

/**
 * Energies of a power bond until now, J.
 */
typedef struct {
  /**
   * Given by end a.
   */
  double transferred;
  /**
   * Residual energy, which is positive if the coupling makes energy: the sum over communication steps.
   */
  double residual;
  /**
   * Residual energy, integrated over communication steps: the sum to trust.
   */
  double residual_integrated;
  /**
   * Put in by the correction.
   */
  double correction;
} gyrator_bond_energy;

/**
 * A real variable of a unit.
 */
typedef struct {
  /**
   * Its name.
   */
  gyrator_text name;
  /**
   * Its start value.
   */
  double start;
} gyrator_variable;

/**
 * A unit that the caller computes: a model, a controller, a physical part. It is called from one thread at a time, which is not
 * always the same one, and calls no function of the run that it is in.
 */
typedef struct {
  /**
   * Inputs.
   */
  const gyrator_variable *inputs;
  /**
   * How many there are.
   */
  size_t input_count;
  /**
   * Outputs.
   */
  const gyrator_variable *outputs;
  /**
   * How many there are.
   */
  size_t output_count;
  /**
   * Advances it from `time` by `step`, both in s, with these inputs, which are held. Writes the outputs at the end; before, the
   * array has the last ones. Called once with `step` 0 for the initial outputs, which do not depend on inputs.
   * Anything but 0 ends the run as an error.
   */
  int (*step)(void *data, double time, double step, const double *inputs, double *outputs);
  /**
   * Frees `data` when the unit is not used any more; may be NULL.
   */
  void (*release)(void *data);
  /**
   * First argument of both functions.
   */
  void *data;
} gyrator_unit;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the message of the last error in this thread, which is valid until the next error in it; empty before the first one.
 */
const char *gyrator_last_error(void);

/**
 * Returns the version of the library.
 */
const char *gyrator_version(void);

/**
 * Adds an interface model. It is checked when the system starts.
 */
gyrator_code gyrator_system_interface_model(gyrator_system *system, const gyrator_interface_model *model);

/**
 * Frees a run, and its units with it; the units are terminated if it was stopped or has reached its end. NULL is allowed.
 */
void gyrator_run_free(gyrator_run *run);

/**
 * Records all outputs and bonds from the present communication point on, as CSV, or as Parquet if the path ends with `.parquet`. The
 * file is complete when the run has ended.
 */
gyrator_code gyrator_run_record(gyrator_run *run,
                                gyrator_text path);

/**
 * Makes one macro-step. `goes_on` may be NULL, and gets false if it was the last one.
 */
gyrator_code gyrator_run_step(gyrator_run *run, bool *goes_on);

/**
 * Steps until this time is reached, s, or the run ends. `goes_on` may be NULL, and gets false if it has ended.
 */
gyrator_code gyrator_run_until(gyrator_run *run, double time, bool *goes_on);

/**
 * Steps until the stop time, or until a unit ends the run.
 */
gyrator_code gyrator_run_to_end(gyrator_run *run);

/**
 * Ends the run here, and terminates its units.
 */
gyrator_code gyrator_run_stop(gyrator_run *run);

/**
 * Simulated time, s.
 */
gyrator_code gyrator_run_time(gyrator_run *run, double *time);

/**
 * Saves the state at the present communication point; all units must be able to, and units of the caller are not. A run that goes back to it and
 * is given the same inputs has the same results, bit for bit. Free it with `gyrator_snapshot_free`, before or after the run.
 */
gyrator_code gyrator_run_save(gyrator_run *run,
                              gyrator_snapshot **result);

/**
 * Goes back to a saved state of this run, which stays valid. The recorded rows stay, and those that follow are appended.
 */
gyrator_code gyrator_run_restore(gyrator_run *run,
                                 gyrator_snapshot *snapshot);

/**
 * Frees the result of `gyrator_run_save`. NULL is allowed.
 */
void gyrator_snapshot_free(gyrator_snapshot *snapshot);

/**
 * Looks up an output, a local variable or a parameter of type Real. Free it with `gyrator_output_free`; it is of use with this run only.
 */
gyrator_code gyrator_run_output(gyrator_run *run,
                                gyrator_text name,
                                gyrator_output **result);

/**
 * Frees the result of `gyrator_run_output`. NULL is allowed.
 */
void gyrator_output_free(gyrator_output *output);

/**
 * Looks up an input that no connection feeds, or a tunable parameter, of type Real. Free it with `gyrator_input_free`; it is of use with this run only.
 */
gyrator_code gyrator_run_input(gyrator_run *run,
                               gyrator_text name,
                               gyrator_input **result);

/**
 * Frees the result of `gyrator_run_input`. NULL is allowed.
 */
void gyrator_input_free(gyrator_input *input);

/**
 * Reads a variable without a look-up.
 */
gyrator_code gyrator_run_read(gyrator_run *run, const gyrator_output *output, double *value);

/**
 * Writes a variable without a look-up.
 */
gyrator_code gyrator_run_write(gyrator_run *run, const gyrator_input *input, double value);

/**
 * Reads a Real by its name, COMPONENT.VARIABLE.
 */
gyrator_code gyrator_run_read_real(gyrator_run *run, gyrator_text name, double *value);

/**
 * Writes a Real by its name, COMPONENT.VARIABLE.
 */
gyrator_code gyrator_run_write_real(gyrator_run *run, gyrator_text name, double value);

/**
 * Energies of a power bond until now.
 */
gyrator_code gyrator_run_bond_energy(gyrator_run *run, gyrator_text name, gyrator_bond_energy *energy);

/**
 * The report until now as JSON, as docs/summary.md describes the summary. The text is valid until the next call of this function or the
 * end of the run.
 */
gyrator_code gyrator_run_summary(gyrator_run *run,
                                 const char **json);

/**
 * Makes an empty system with this macro-step, s. It starts at time 0 and has no end.
 */
gyrator_code gyrator_system_new(double step_size, gyrator_system **result);

/**
 * Reads a system from a file or a folder: TOML, SSP, OSP, MasterSim or INTO-CPS.
 */
gyrator_code gyrator_system_from_file(gyrator_text path, gyrator_system **result);

/**
 * Frees a system; runs that it has started go on. NULL is allowed.
 */
void gyrator_system_free(gyrator_system *system);

/**
 * Sets the start time, s.
 */
gyrator_code gyrator_system_start_time(gyrator_system *system, double seconds);

/**
 * Sets the stop time, s; without one a run has no end.
 */
gyrator_code gyrator_system_stop_time(gyrator_system *system, double seconds);

/**
 * Gives all FMUs this relative tolerance, or none if it is 0; unless it is set, each gets the one that it recommends.
 */
gyrator_code gyrator_system_tolerance(gyrator_system *system, double relative);

/**
 * Adds an FMU.
 */
gyrator_code gyrator_system_add_fmu(gyrator_system *system, gyrator_text name, gyrator_text path);

/**
 * Adds a unit of the caller, for one run of the system. The description is copied.
 */
gyrator_code gyrator_system_add_unit(gyrator_system *system, gyrator_text name, const gyrator_unit *unit);

/**
 * Sets the communication step of a component, s.
 */
gyrator_code gyrator_component_step_size(gyrator_system *system, gyrator_text name, double seconds);

/**
 * Chooses for one component: `what` is "exchange" or "extrapolation".
 */
gyrator_code gyrator_component_choose(gyrator_system *system,
                                      gyrator_text name,
                                      gyrator_text what,
                                      gyrator_text word,
                                      const gyrator_setting *settings,
                                      size_t setting_count);

/**
 * Sets the start value of a real variable of a component.
 */
gyrator_code gyrator_component_start_real(gyrator_system *system,
                                          gyrator_text name,
                                          gyrator_text variable,
                                          double value);

/**
 * Sets the start value of an Integer or an enumeration of a component.
 */
gyrator_code gyrator_component_start_integer(gyrator_system *system,
                                             gyrator_text name,
                                             gyrator_text variable,
                                             int32_t value);

/**
 * Sets the start value of a Boolean of a component.
 */
gyrator_code gyrator_component_start_boolean(gyrator_system *system,
                                             gyrator_text name,
                                             gyrator_text variable,
                                             bool value);

/**
 * Sets the start value of a String of a component.
 */
gyrator_code gyrator_component_start_string(gyrator_system *system,
                                            gyrator_text name,
                                            gyrator_text variable,
                                            gyrator_text value);

/**
 * Connects an output to an input, both COMPONENT.VARIABLE.
 */
gyrator_code gyrator_system_connect(gyrator_system *system, gyrator_text output, gyrator_text input);

/**
 * Connects an output to an input, which gets gain times output plus offset.
 */
gyrator_code gyrator_system_connect_scaled(gyrator_system *system,
                                           gyrator_text output,
                                           gyrator_text input,
                                           double gain,
                                           double offset);

/**
 * Adds a scalar power bond: the effort goes from `effort_output` to `effort_input`, the flow from `flow_output` to `flow_input`.
 */
gyrator_code gyrator_system_bond(gyrator_system *system,
                                 gyrator_text name,
                                 gyrator_text effort_output,
                                 gyrator_text effort_input,
                                 gyrator_text flow_output,
                                 gyrator_text flow_input);

/**
 * Chooses for the whole system: `what` is "method", "step_control", "exchange", "extrapolation" or "correction", `word` and the settings are those
 * that `gyrator list` prints. An unknown word is reported when the system starts. Without a choice: as in a file that has none.
 */
gyrator_code gyrator_system_choose(gyrator_system *system,
                                   gyrator_text what,
                                   gyrator_text word,
                                   const gyrator_setting *settings,
                                   size_t setting_count);

/**
 * Initialises the units and brings them to the start time. `threads` step them.
 */
gyrator_code gyrator_system_start(gyrator_system *system, size_t threads, gyrator_run **result);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GYRATOR_H */
