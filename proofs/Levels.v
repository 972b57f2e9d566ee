(** Levels: how far a dataset is from the other answer.

    The exact level of a yes is the fewest changes that make it a no, less one: its distance to the boundary. That of a no is
    minus the fewest changes that make it a yes. Where nothing changes the answer it is infinite, [always] or [never], as in
    the code. A levelling has the truth as its sign and moves by at most one between neighbours, as privacy needs; an infinite
    level moves not at all. Exact levels are a levelling, and of all levellings the furthest from the boundary: one that moves
    by at most one per edge can be no further from the line than the truth is from changing.

    A question is a colour, so several can be asked on one graph; the graph's own is [blue]. *)

From Coq Require Import ZArith Lia Bool.
From Duotone Require Import Graph.
Open Scope Z_scope.

Inductive level := never | finite (z : Z) | always.

Definition yes x := match x with never => false | finite z => 0 <=? z | always => true end.

Definition below x y :=
  match x, y with never, _ | _, always => True | finite m, finite n => m <= n | _, _ => False end.

Definition within n x y :=
  match x, y with never, never | always, always => True | finite a, finite b => Z.abs (a - b) <= n | _, _ => False end.

(** The level of an answer that some number of changes flips, or that nothing does. *)
Definition level_of (v : bool) (fewest : option nat) :=
  match v, fewest with
  | true, Some n => finite (Z.of_nat n - 1) | true, None => always
  | false, Some n => finite (- Z.of_nat n) | false, None => never
  end.

Lemma within_join m n x y z : within m x y -> within n y z -> within (n + m) x z.
Proof. destruct x, y, z; simpl; try easy; lia. Qed.

Section Levels.
Context {G : graph}.
Implicit Types (a b : G) (c : G -> bool) (l : G -> level).

Record levelling c l := { side : forall a, yes (l a) = c a; smooth : forall a b, near a b -> within 1 (l a) (l b) }.

(** [flips c a d]: so many changes make the answer at [a] another one, and no fewer do; none at all do if [d] is [None]. *)
Definition flips c a (d : option nat) :=
  match d with
  | Some n => away (fun b => c b <> c a) n a
  | None => forall n b, c b <> c a -> ~ walk n b a
  end.

Definition exact c a x := exists d, flips c a d /\ x = level_of (c a) d.

Lemma exact_same c c' a x : (forall b, c b = c' b) -> exact c a x -> exact c' a x.
Proof.
  intros E (d & F & ->); exists d; rewrite <- E; split; [|reflexivity].
  destruct d; simpl in *; [destruct F as ((b & Hb & W) & M); split|].
  - exists b; rewrite <- !E; auto.
  - intros m b' Hb'; apply M; rewrite !E; assumption.
  - intros m b Hb; apply F; rewrite !E; assumption.
Qed.

(** *** Distances to the boundary (Definition 4) *)

Lemma crossing n a b : walk n b a -> blue b = false -> blue a = true ->
  exists m d, (m < n)%nat /\ blue_boundary d /\ walk m d a.
Proof.
  induction 1 as [| n a b e W IH E]; intros Hr Hb; [congruence|]. destruct (blue b) eqn:B.
  - destruct IH as (m & d & L & D & V); auto. exists (S m), d; repeat split; try apply D; [lia | eapply further; eassumption].
  - exists 0%nat, e; split; [lia|]. split; [|constructor]. split; [assumption|]. exists b; auto using near_symmetric.
Qed.

(** "Fewest changes to a red dataset, less one" is the distance to the blue boundary. *)
Lemma to_boundary n a : blue a = true -> (away (fun b => blue b = false) (S n) a <-> away blue_boundary n a).
Proof.
  assert (out : forall m d, blue_boundary d -> walk m d a -> exists e, blue e = false /\ walk (S m) e a).
  { intros m d (Hd & e & E & He) V; exists e; split; [assumption|]. replace (S m) with (m + 1)%nat by lia.
    apply walk_join with d; [apply walk_edge, near_symmetric|]; assumption. }
  intros Ha; split; intros ((b & Hb & W) & M); split.
  - destruct (crossing _ _ _ W Hb Ha) as (m & d & L & D & V). destruct (out _ _ D V) as (e & He & We).
    specialize (M _ _ He We). exists d; split; [assumption|]. replace n with m by lia; assumption.
  - intros m d D V. destruct (out _ _ D V) as (e & He & We). specialize (M _ _ He We); lia.
  - destruct (out _ _ Hb W) as (e & He & We); exists e; auto.
  - intros m e He We. destruct (crossing _ _ _ We He Ha) as (k & d & L & D & V). specialize (M _ _ D V); lia.
Qed.

Corollary exact_to_boundary z a : blue a = true ->
  (exact blue a (finite z) <-> 0 <= z /\ away blue_boundary (Z.to_nat z) a).
Proof.
  intros Ha. assert (N : forall b, blue b = false <-> blue b <> blue a) by (intros b; rewrite Ha; destruct (blue b); easy).
  rewrite <- to_boundary by assumption. unfold away; setoid_rewrite N. unfold exact, level_of; rewrite Ha. split.
  - assert (I : forall u, finite z = finite u -> z = u) by congruence.
    intros ([[|n]|] & F & E); [|apply I in E; replace z with (Z.of_nat n) by lia | discriminate].
    + destruct F as ((b & Hb & W) & _); apply walk_none in W; congruence.
    + rewrite Nat2Z.id; split; [lia|]. unfold flips, away in F; rewrite Ha in *; exact F.
  - intros [P F]; exists (Some (S (Z.to_nat z))); split; [|f_equal; lia]. unfold flips, away; rewrite Ha in *; exact F.
Qed.

(** *** Exact levels *)

Lemma flips_once c a d d' : flips c a d -> flips c a d' -> d = d'.
Proof.
  destruct d, d'; simpl; intros F F'; trivial.
  - f_equal; eapply away_once; eassumption.
  - destruct F as ((b & Hb & W) & _); destruct (F' _ _ Hb W).
  - destruct F' as ((b & Hb & W) & _); destruct (F _ _ Hb W).
Qed.

Lemma exact_once c a x y : exact c a x -> exact c a y -> x = y.
Proof. intros (d & F & ->) (d' & F' & ->); f_equal; eapply flips_once; eassumption. Qed.

(** No dataset is without one. (To name it, one must be able to decide whether there is a walk to the other colour.) *)
Lemma exact_exists c a : ~ ~ exists x, exact c a x.
Proof.
  intros N.
  assert (F : forall n m b, (m < n)%nat -> c b <> c a -> ~ walk m b a).
  { induction n as [| n IH]; intros m b L Hb W; [lia|]. apply N.
    exists (level_of (c a) (Some m)), (Some m); split; [|reflexivity]. split; [exists b; auto|].
    intros k e He V. destruct (Nat.le_gt_cases m k); [assumption|]. destruct (IH k e); [lia | assumption | assumption]. }
  apply N; exists (level_of (c a) None), None; split; [|reflexivity]. intros n b Hb; apply (F (S n)); [lia | assumption].
Qed.

Lemma exact_side c a x : exact c a x -> yes x = c a.
Proof.
  intros ([[|n]|] & F & ->).
  - destruct F as ((b & Hb & W) & _). apply walk_none in W; congruence.
  - destruct (c a); unfold yes, level_of; [apply Z.leb_le | apply Z.leb_gt]; lia.
  - destruct (c a); reflexivity.
Qed.

Lemma flips_next c a b d : near a b -> c a <> c b -> flips c a d -> d = Some 1%nat.
Proof.
  intros E N F; apply (flips_once c a); [assumption|]. split.
  - exists b; split; [congruence | apply walk_edge, near_symmetric, E].
  - intros [|m] e He W; [apply walk_none in W; congruence | lia].
Qed.

Lemma exact_smooth c a b x y : near a b -> exact c a x -> exact c b y -> within 1 x y.
Proof.
  intros E (d & F & ->) (d' & F' & ->). destruct (bool_dec (c a) (c b)) as [same | other].
  - rewrite <- same. unfold flips in F, F'; rewrite <- same in F'. destruct d as [m|], d' as [n|].
    + assert (n <= S m)%nat by (eapply away_near; eassumption).
      assert (m <= S n)%nat by (eapply away_near; [apply near_symmetric|..]; eassumption).
      destruct (c a); unfold within, level_of; lia.
    + destruct F as ((e & He & W) & _). destruct (F' (S m) e He). eapply further; eassumption.
    + destruct F' as ((e & He & W) & _). destruct (F (S n) e He).
      eapply further; [|apply near_symmetric]; eassumption.
    + destruct (c a); exact I.
  - rewrite (flips_next c a b d), (flips_next c b a d'); auto using near_symmetric.
    destruct (c a), (c b); unfold within, level_of; congruence || lia.
Qed.

Theorem exact_levelling c l : (forall a, exact c a (l a)) -> levelling c l.
Proof.
  intros X; split; [intros a; apply exact_side, X | intros a b E; eapply exact_smooth; eauto].
Qed.

(** Any levelling is a bound on the distance. *)

Lemma levelling_walk c l n a b : levelling c l -> walk n a b -> within (Z.of_nat n) (l a) (l b).
Proof.
  intros L; induction 1 as [a | n a b e W IH E]; [destruct (l a); simpl; trivial; lia|].
  rewrite Nat2Z.inj_succ, <- Z.add_1_l. eapply within_join; [exact IH | apply (smooth _ _ L), E].
Qed.

Theorem levelling_bound c l a x : levelling c l -> exact c a x -> if c a then below (l a) x else below x (l a).
Proof.
  intros L (d & F & ->). destruct d as [n|]; [|destruct (c a), (l a); exact I].
  destruct F as ((b & Hb & W) & _). pose proof (levelling_walk _ _ _ _ _ L W) as D.
  pose proof (side _ _ L a) as Sa; pose proof (side _ _ L b) as Sb.
  destruct (c a), (c b); try congruence; destruct (l a), (l b);
    unfold below, within, yes, level_of in *; try easy;
    rewrite ?Z.leb_le, ?Z.leb_gt in *; lia.
Qed.

End Levels.
