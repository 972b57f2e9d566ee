(** Not in vain: a certificate that the package wrote, of the paper's balanced mechanism at (log 2, 0.1), is accepted; with one
    part of 2^128 more or less, with a larger ratio, or with another claim, it is not. *)

From Coq Require Import ZArith String List.
From Duotone Require Import ReadCertificate.
Import ListNotations.
Open Scope string_scope.

Definition example (ratio : string) (first second : string * string) (claim : string) : json :=
  let row (numbers : string * string) error :=
    Object [("numbers", Items [Text (fst numbers); Text (snd numbers)]); ("error", Text error)] in
  let swapped (numbers : string * string) := (snd numbers, fst numbers) in
  let near := ("340282366920938463463374607431768211455", "1") in
  let sure := ("340282366920938463463374607431768211456", "0") in
  let near_error := "2.938735877055719e-39" in
  Object [("certificate", Text "duotone"); ("version", Integer 1);
          ("privacy", Object [("epsilon", Null); ("ratio", Text ratio); ("delta", Text "1/10")]);
          ("outcomes", Items [Text "yes"; Text "no"]); ("bits", Integer 128);
          ("claims", Object [("private", Truth true); ("optimal", Truth true); ("loss", Text claim)]);
          ("boundary", Text "balanced"); ("lowest", Integer (-4));
          ("rows", Items [row (swapped sure) "0.0"; row (swapped near) near_error; row (swapped second) "0.1";
                          row (swapped first) "0.3"; row first "0.3"; row second "0.1"; row near near_error; row sure "0.0"])].

Definition first := ("238197656844656924424362225202237748019", "102084710076281539039012382229530463437").
Definition second := ("306254130228844617117037146688591390310", "34028236692093846346337460743176821146").

Example accepted : check (example "2" first second "2^-60") = Some (Line, 8%Z).
Proof. vm_compute; reflexivity. Qed.

Example refused :
  check (example "2" ("238197656844656924424362225202237748020", "102084710076281539039012382229530463436")
    second "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146688591390311",
    "34028236692093846346337460743176821145") "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146688591390309",
    "34028236692093846346337460743176821147") "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146688591390310",
    "34028236692093846346337460743176821145") "2^-60") = None /\
  check (example "201/100" first second "2^-60") = None /\ check (example "2" first second "2^-61") = None.
Proof. vm_compute; repeat split. Qed.
